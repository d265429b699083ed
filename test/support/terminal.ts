// A program on a pseudo-terminal, as a person sees it, by util-linux's script.
import { spawnSync } from 'node:child_process';
import { type Environment, startProcess } from './processes.ts';

/** Whether this machine has a `script` that takes these options: Linux. */
export const hasTerminal = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false;

/** `command` is one program with its arguments. Its output and errors are both in `output`, with the terminal's line ends. */
export function startOnTerminal(command: string, env: Environment) {
  const terminal = startProcess(
    'script',
    ['--quiet', '--return', '--command', `exec ${command}`, '/dev/null'],
    {
      env: { TERM: 'xterm', ...env },
      stdin: true,
    },
  );
  return {
    ...terminal,
    /** What is on the screen: lines that were cleared or written over are gone. */
    screen: () =>
      terminal
        .output()
        .split('\n')
        .map((line) => line.replace(/\r$/, '').split('\r').at(-1)?.replaceAll('\u001b[K', '') ?? '')
        .join('\n'),
    /** Resolves to the exit code. */
    pressCtrlC(): Promise<number | null> {
      terminal.child.stdin?.write('\u0003');
      return terminal.ended;
    },
  };
}
