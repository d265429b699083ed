// npm run mutants: StrykerJS changes the code in small ways, one at a time, and tells which changes no test notices.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { runCommand, UsageError, wholeNumber } from '../../services/platform/process/command.ts';
import { createMigratedTemplate } from '../support/migrated-template.ts';
import { root } from '../support/processes.ts';
import { ROOMS, type Room } from './rooms.ts';

const HELP = `Changes the code in small ways, one at a time, and tells which changes no test notices.

  npm run mutants [-- --room NAME]... [--source TEXT]... [--lanes N] [--list]

  --room NAME    only this room; may be given again
  --source TEXT  only files whose path contains TEXT; may be given again
  --lanes N      how many mutants are tried at once; default 2
  --list         tells the rooms and what is in them, and tries nothing

Prints StrykerJS's report of each room with every survivor, and ends with 1 where a room is below its bar. All mutants of a
room also go to .bench/mutants. Takes hours for all rooms.
`;

const options = {
  room: { type: 'string', multiple: true },
  source: { type: 'string', multiple: true },
  lanes: { type: 'string', default: '2' },
  list: { type: 'boolean' },
} as const;

await runCommand({ name: 'npm run mutants', help: HELP, options }, async (values) => {
  const unknown = values.room?.find((name) => !ROOMS.some((room) => room.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no room "${unknown}": --list tells them.`);
  const rooms = ROOMS.filter(({ name }) => values.room?.includes(name) ?? true);
  if (values.list) return void process.stdout.write(rooms.map(described).join('\n'));
  const lanes = wholeNumber('--lanes', values.lanes, 1, 100);
  const folder = mkdtempSync(join(tmpdir(), 'srs-mutants-'));
  // As root the server runs as another account, which has to pass this folder.
  chmodSync(folder, 0o755);
  const postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres'), durable: false });
  try {
    await createMigratedTemplate(postgres.databaseUrl);
    const below: string[] = [];
    for (const room of rooms) {
      process.stdout.write(`${room.name}\n`);
      const config = join(folder, 'stryker.json');
      writeFileSync(config, JSON.stringify(configOf(room, { lanes, folder, texts: values.source })));
      const code = await runStryker(config, folder, {
        MUTANTS_TESTS: JSON.stringify(room.tests),
        MUTANTS_POSTGRES_URL: postgres.databaseUrl,
      });
      if (code !== 0) below.push(room.name);
    }
    if (below.length > 0) throw new Error(`Below the bar, or ended: ${below.join(', ')}`);
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
});

function described({ name, bar, sources, tests }: Room): string {
  const indent = '\n           ';
  return `${name} (${bar} %)\n  mutated  ${sources.join(indent)}\n  by       ${tests.join(indent)}\n`;
}

/** `texts`: of which the path of a file must contain one. */
function configOf(room: Room, run: { lanes: number; folder: string; texts: string[] | undefined }): object {
  const exclude = room.sources.flatMap((glob) => (glob.startsWith('!') ? [glob.slice(1)] : []));
  const files = globSync(
    room.sources.filter((glob) => !glob.startsWith('!')),
    { cwd: root, exclude },
  );
  return {
    mutate: files.filter((file) => run.texts?.some((text) => file.includes(text)) ?? true),
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // There is none: TypeScript 7 has no API for StrykerJS to read it by.
    tsconfigFile: 'none.json',
    mutator: { excludedMutations: room.texts ? [] : ['StringLiteral'] },
    concurrency: run.lanes,
    timeoutMS: 20_000,
    thresholds: { high: 100, low: room.bar, break: room.bar },
    // What each holds: nothing that the tests of a room read.
    ignorePatterns: ['/.*', '!/.env.example', '/coverage', '/docs/**/*.png', '/screenshots'],
    tempDirName: join(run.folder, 'sandboxes'),
    cleanTempDir: 'always',
    reporters: ['clear-text', 'json', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: join(root, '.bench/mutants', `${room.name.replaceAll(/\W+/g, '-')}.json`) },
    allowConsoleColors: false,
    logLevel: 'warn',
  };
}

/**
 * Its exit code. What a hanging mutant has started is in its process group, and ends with it.
 * @throws Error where this program is told to end.
 */
async function runStryker(config: string, folder: string, env: NodeJS.ProcessEnv): Promise<number | null> {
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true, mode: 0o755 });
  const program = spawn(
    process.execPath,
    ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run', config],
    { cwd: root, detached: true, stdio: 'inherit', env: { ...process.env, ...env, TMPDIR: temporary } },
  );
  let told: NodeJS.Signals | undefined;
  const signal = (name: NodeJS.Signals) => {
    told ??= name;
    try {
      process.kill(-(program.pid ?? 0), name);
    } catch {
      // All of it has ended.
    }
  };
  process.on('SIGINT', signal).on('SIGTERM', signal);
  const [code] = await once(program, 'exit');
  process.off('SIGINT', signal).off('SIGTERM', signal);
  if (told !== undefined) throw new Error(`Ended by ${told}.`);
  signal('SIGKILL');
  return code;
}
