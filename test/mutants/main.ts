// npm run mutants: changes the code in small ways, one at a time, and tells which changes no test notices.
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand, UsageError, wholeNumber } from '../../services/platform/process/command.ts';
import { createProgress } from '../../services/platform/process/terminal.ts';
import { runCode } from './code.ts';
import {
  type MutantResult,
  percentOf,
  readEquivalents,
  type Score,
  scoreOf,
  survivorLine,
} from './report.ts';
import { ROOMS, type Room } from './rooms.ts';
import { openWorkplace, type Workplace } from './workplace.ts';

const HELP = `Changes the code in small ways, one at a time, and tells which changes no test notices.

  npm run mutants [-- --room NAME]... [--source TEXT]... [--lanes N] [--list]

  --room NAME    only this room; may be given again
  --source TEXT  only files whose path contains TEXT; may be given again
  --lanes N      how many mutants are tried at once; default 2
  --list         tells the rooms and what is in them, and tries nothing

Prints a score for each room and every survivor, and ends with 1 where a room is below its bar. All mutants of a room also
go to .bench/mutants. Takes hours for all rooms. Those that change nothing are in test/mutants/equivalents.json.
`;

const root = dirname(dirname(import.meta.dirname));

const options = {
  room: { type: 'string', multiple: true },
  source: { type: 'string', multiple: true },
  lanes: { type: 'string', default: '2' },
  list: { type: 'boolean' },
} as const;

await runCommand({ name: 'npm run mutants', help: HELP, options }, async (values) => {
  const rooms = chosen(values.room);
  if (values.list) return void process.stdout.write(rooms.map(described).join('\n'));
  const lanes = wholeNumber('--lanes', values.lanes, 1, 100);
  const opening = openWorkplace(root);
  let signalled: NodeJS.Signals | undefined;
  const interrupt = (signal: NodeJS.Signals) => {
    signalled = signal;
    void opening.then((workplace) => workplace.close());
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const workplace = await opening;
  try {
    const scores: { room: Room; score: Score }[] = [];
    for (const [index, room] of rooms.entries()) {
      if (signalled !== undefined) return;
      const results = await run(room, {
        workplace,
        lanes,
        number: index + 1,
        files: filesOf(room, values.source),
      });
      const score = scoreOf(results, readEquivalents());
      keep(room, results);
      tell(room, score);
      scores.push({ room, score });
    }
    const below = scores
      .filter(({ room, score }) => percentOf(score) < room.bar)
      .map(({ room }) => room.name);
    if (below.length > 0) throw new Error(`Below the bar: ${below.join(', ')}`);
  } catch (error) {
    if (signalled === undefined) throw error;
  } finally {
    await workplace.close();
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    if (signalled !== undefined) process.exitCode = signalled === 'SIGINT' ? 130 : 143;
  }
});

function chosen(names: readonly string[] | undefined): readonly Room[] {
  const unknown = names?.find((name) => !ROOMS.some((room) => room.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no room "${unknown}": --list tells them.`);
  return ROOMS.filter(({ name }) => names?.includes(name) ?? true);
}

/** The room's files whose path contains one of `texts`; all of them without `texts`. */
function filesOf({ sources }: Room, texts: readonly string[] = ['']): string[] {
  const [dropped, taken] = [true, false].map((isDropped) =>
    sources.filter((glob) => glob.startsWith('!') === isDropped),
  );
  return globSync(taken ?? [], { cwd: root, exclude: dropped?.map((glob) => glob.slice(1)) ?? [] })
    .filter((file) => texts.some((text) => file.includes(text)))
    .toSorted();
}

function described({ name, bar, sources, tests }: Room): string {
  const indent = '\n           ';
  return `${name} (${bar} %)\n  mutated  ${sources.join(indent)}\n  by       ${tests.join(indent)}\n`;
}

async function run(
  room: Room,
  run: { workplace: Workplace; lanes: number; number: number; files: readonly string[] },
): Promise<MutantResult[]> {
  const { workplace, lanes, number, files } = run;
  process.stderr.write(`${room.name}\n`);
  let progress: ReturnType<typeof createProgress> | undefined;
  let before = 0;
  const told = (done: number, total: number) => {
    progress ??= createProgress('mutants', total);
    progress.advance(done - before);
    before = done;
  };
  const folder = join(workplace.folder, `room-${number}`);
  const runChild = (args: readonly string[], env: NodeJS.ProcessEnv) => workplace.run(args, env, told);
  try {
    return await runCode(room, { files, folder, lanes, runChild });
  } finally {
    progress?.end();
  }
}

/** All mutants of the room, for whoever wants more than the survivors. */
function keep(room: Room, results: readonly MutantResult[]): void {
  const folder = join(root, '.bench', 'mutants');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, `${room.name.replaceAll(/\W+/g, '-')}.json`),
    `${JSON.stringify(results, null, 1)}\n`,
  );
}

function tell(room: Room, score: Score): void {
  const { killed, counted, equivalent, survivors } = score;
  const verdict = percentOf(score) < room.bar ? 'below' : 'at';
  process.stdout.write(
    `${room.name}: ${percentOf(score).toFixed(1)} % (${killed} of ${counted}; ${equivalent} change nothing), ` +
      `${verdict} its bar of ${room.bar} %\n${survivors.map((result) => `  ${survivorLine(result)}\n`).join('')}`,
  );
}
