// Which files and lines of the project run in npm start for one warm POST /v1/reviews/{id}, by V8's precise coverage.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../services/platform/process/command.ts';
import { freePort } from '../../services/platform/process/ports.ts';
import { startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';
import { ROOT } from './root.ts';

const HELP = `Lists the files of the project, with their lines, that run in npm start for one warm POST /v1/reviews/{id}.

  node test/bench/files-of-a-review.ts [--checkout FOLDER] [--lines]

  --checkout FOLDER  another checkout of the project, with its packages installed
  --lines            also the lines that run
`;

/** A function counts if it runs for each of so many reviews, beyond what the busiest idle pause of the same length runs. */
const REVIEWS = 20;
const WARM_UP_REVIEWS = 200;
const PAUSE_MS = 4000;
const IDLE_PAUSES = 3;

type Range = { startOffset: number; endOffset: number; count: number };
type Script = { url: string; functions: { functionName: string; ranges: Range[] }[] };
/** Executions of every character of every file. */
type Counts = Map<string, Int32Array>;

const options = { checkout: { type: 'string' }, lines: { type: 'boolean', default: false } } as const;

await runCommand(
  { name: 'node test/bench/files-of-a-review.ts', help: HELP, options },
  async ({ checkout, lines }) => {
    const folder = resolve(checkout ?? ROOT);
    const dataDir = await mkdtemp(join(tmpdir(), 'files-of-a-review-'));
    try {
      const files = await measure(folder, dataDir);
      const width = Math.max(...files.map(({ file }) => file.length));
      for (const { file, length, executed } of files)
        process.stdout.write(
          `${file.padEnd(width)}  ${`${executed.length}`.padStart(4)} of ${`${length}`.padStart(4)} lines${lines ? `: ${toRanges(executed)}` : ''}\n`,
        );
      const sum = (of: (file: (typeof files)[number]) => number) =>
        files.reduce((total, file) => total + of(file), 0);
      const all = sum(({ length }) => length);
      const run = sum(({ executed }) => executed.length);
      process.stdout.write(`${files.length} files of ${all} lines, of which ${run} run\n`);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  },
);

async function measure(folder: string, dataDir: string) {
  const [restPort, inspectorPort, ...others] = await Promise.all(Array.from({ length: 8 }, freePort));
  const names = ['GRAPHQL_PORT', 'SCHEDULING_PORT', 'ACCOUNTS_PORT', 'REMINDERS_PORT', 'REMINDERS_HTTP_PORT'];
  const system = startProcess(
    process.execPath,
    [`--inspect=127.0.0.1:${inspectorPort}`, ...argumentsOf('start', folder)],
    {
      cwd: folder,
      env: {
        HOME: process.env.HOME,
        DATA_DIR: dataDir,
        WRITE_LIMIT_PER_MINUTE: '100000',
        REST_PORT: `${restPort}`,
        ...Object.fromEntries(names.map((name, index) => [name, `${others[index]}`])),
      },
    },
  );
  try {
    const key = await system.says((output) => /rmk_live_[0-9A-Za-z]{49}/.exec(output)?.[0]);
    const send = async (path: string, json: object) => {
      const response = await fetch(`http://127.0.0.1:${restPort}/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(json),
      });
      const body = await response.json();
      if (!response.ok) throw new Error(`${path}: ${JSON.stringify(body)}`);
      return body as { material: { id: string } };
    };
    const { material } = await send('materials', { title: 'A title', content: 'Some content' });
    const review = async (count: number) => {
      for (let each = 0; each < count; each += 1) await send(`reviews/${material.id}`, { quality: 4 });
    };
    const profiler = await openProfiler(inspectorPort ?? 0);
    await review(WARM_UP_REVIEWS);
    const idle: Counts[] = [];
    for (let pause = 0; pause <= IDLE_PAUSES; pause += 1) {
      await sleep(PAUSE_MS);
      const counts = await profiler.take(folder);
      // The first ends with the warm-up.
      if (pause > 0) idle.push(counts);
    }
    const [busy] = await Promise.all([sleep(PAUSE_MS).then(() => profiler.take(folder)), review(REVIEWS)]);
    profiler.close();
    return [...busy]
      .map(([file, counts]) => {
        const text = readFileSync(join(folder, file), 'utf8');
        const excess = counts.map(
          (count, at) => count - Math.max(...idle.map((of) => of.get(file)?.[at] ?? 0)),
        );
        return { file, length: text.trimEnd().split('\n').length, executed: executedLines(text, excess) };
      })
      .filter(({ executed }) => executed.length > 0)
      .toSorted((one, other) => (one.file < other.file ? -1 : 1));
  } finally {
    await system.end();
  }
}

/** Lines, from 1, with a character of code that ran for each review. */
function executedLines(text: string, excess: Int32Array): number[] {
  const lines = new Set<number>();
  let line = 1;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\n') line += 1;
    else if ((excess[at] ?? 0) >= REVIEWS && /\S/.test(text[at] ?? '')) lines.add(line);
  }
  return [...lines];
}

function toRanges(lines: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last?.[1] === line - 1) last[1] = line;
    else ranges.push([line, line]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}

/** Speaks the inspector's protocol; counts calls and blocks from now on. */
async function openProfiler(port: number) {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await new Promise((opened, failed) => {
    socket.onopen = opened;
    socket.onerror = failed;
  });
  const waiting = new Map<number, (result: unknown) => void>();
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  };
  let sent = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<unknown>((answered) => {
      sent += 1;
      waiting.set(sent, answered);
      socket.send(JSON.stringify({ id: sent, method, params }));
    });
  await ask('Profiler.enable');
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    /** What ran since it was last taken. Types are blanked out where they stand, so offsets are those of the source. */
    async take(folder: string): Promise<Counts> {
      const { result } = (await ask('Profiler.takePreciseCoverage')) as { result: Script[] };
      const ours = result.filter(
        ({ url }) => url.startsWith(`file://${folder}/`) && !url.includes('/node_modules/'),
      );
      return new Map(
        ours.map((script) => [
          fileURLToPath(script.url).slice(folder.length + 1),
          countCharacters(script, readFileSync(fileURLToPath(script.url), 'utf8').length),
        ]),
      );
    },
    close: () => socket.close(),
  };
}

/** An inner range says it better than the one around it, and comes later. */
function countCharacters({ functions }: Script, length: number): Int32Array {
  const counts = new Int32Array(length);
  const ranges = functions.flatMap((each) => each.ranges);
  ranges.sort((one, other) => one.startOffset - other.startOffset || other.endOffset - one.endOffset);
  for (const { startOffset, endOffset, count } of ranges) counts.fill(count, startOffset, endOffset);
  return counts;
}
