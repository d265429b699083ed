// A bash in which one step follows another, as a reader pastes them: the variables of a step are there in the next.
import { type Environment, startProcess } from './processes.ts';

export function openShell(env: Environment) {
  const shell = startProcess('bash', [], { env, stdin: true, detached: true });
  const type = (text: string) => void shell.child.stdin?.write(text);
  let steps = 0;
  return {
    output: shell.output,
    says: shell.says,
    /** Resolves to what it writes to standard output. @throws Error with all output if its exit code is not 0. */
    async run(script: string): Promise<string> {
      steps += 1;
      const began = shell.stdout().length;
      type(`{ ${script}\n} < /dev/null\nprintf '\\n[step %d: %d]\\n' ${steps} $?\n`);
      const [said = '', code] = await shell.says(() => {
        const [all, before, status] =
          new RegExp(`^([\\s\\S]*)\\n\\[step ${steps}: (\\d+)\\]\\n`).exec(shell.stdout().slice(began)) ?? [];
        return all === undefined ? undefined : [before, status];
      });
      if (code !== '0') throw new Error(`${script} ended with ${code}: ${shell.output()}`);
      return said;
    },
    /** Ends what still runs in it as well. */
    end: () => shell.end(),
  };
}
