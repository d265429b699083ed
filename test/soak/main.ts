// npm run soak: all services for half an hour at 70 % of what they can do; what they hold must not grow.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SCOPES } from '../../services/accounts/keys/rules.ts';
import { runCommand, wholeNumber } from '../../services/platform/process/command.ts';
import { createProgress } from '../../services/platform/process/terminal.ts';
import { type LoadGenerator, startLoadGenerator } from '../bench/load/load.ts';
import { httpRequest, type LoadResult } from '../bench/load/plan.ts';
import type { Held } from './probe.ts';
import { type Soaked, startSoaked } from './services.ts';

const HELP = `Runs all services at 70 % of their capacity, and checks that their memory and handles do not grow.

  npm run soak [-- --minutes 30]

Every minute each process collects its garbage and reports what is left. The run exits with 1 if, in its last two thirds,
the heap of a process grew by 3 MB or more (by 15 MB in runs under 30 minutes, which end while caches still fill), or it
opened more than 5 additional handles. Needs redis-server. Writes .soak/soak.json.
`;
const root = dirname(dirname(import.meta.dirname));
const USERS = 50;
const SLICE_MS = 10_000;
const SHARE_OF_CAPACITY = 0.7;
const CALL = { requestId: 'soak' };

type Sample = { minute: number; held: Record<string, Held> };
type Slice = LoadResult & { minute: number };

const options = { minutes: { type: 'string', default: '30' } } as const;

await runCommand({ name: 'npm run soak', help: HELP, options, failureCode: 2 }, async (values) => {
  const minutes = wholeNumber('--minutes', values.minutes, 1, 10_000);
  const soaked = await startSoaked();
  const load = startLoadGenerator();
  try {
    return await soak(soaked, load, minutes);
  } finally {
    await load.stop();
    soaked.accounts.close();
    await soaked.stop();
  }
});

async function soak(here: Soaked, generator: LoadGenerator, minutes: number): Promise<number> {
  const requests = await makeUsers(here);
  const plan = { port: here.restPort, connections: 64, requests, durationMs: 5000 };
  await generator.run(plan);
  const best = await generator.run(plan);
  const ratePerSecond = Math.round((SHARE_OF_CAPACITY * (best.statuses[200] ?? 0)) / best.seconds);
  const progress = createProgress(
    `slices of ${SLICE_MS / 1000} s at ${ratePerSecond} requests a second`,
    minutes * 6,
  );
  const samples: Sample[] = [];
  const slices: Slice[] = [];
  const began = performance.now();
  const minute = () => (performance.now() - began) / 60_000;
  const sample = async () => samples.push({ minute: minute(), held: await here.held() });
  await sample();
  while (minute() < minutes) {
    const result = await generator.run({ ...plan, connections: 200, durationMs: SLICE_MS, ratePerSecond });
    await askGateway(here);
    slices.push({ ...result, minute: minute() });
    progress.advance(1);
    if (minute() - (samples.at(-1)?.minute ?? 0) >= 1) await sample();
  }
  await sample();
  progress.end();
  return report(samples, slices, { ratePerSecond, minutes });
}

/** Every kind of request, for users who have something to learn. */
async function makeUsers(here: Soaked): Promise<string[]> {
  const requests: string[] = [];
  for (let index = 0; index < USERS; index += 1) {
    const { user } = await here.accounts.users.createUser({ email: `soak${index}@example.com` }, CALL);
    const { key } = await here.accounts.apiKeys.createApiKey(
      { userId: user?.userId ?? '', scopes: [...SCOPES] },
      CALL,
    );
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      const response = await fetch(`http://127.0.0.1:${here.restPort}/v1/materials`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ title: `Material ${count}`, content: 'x'.repeat(200) }),
      });
      const { material } = (await response.json()) as { material: { id: string } };
      ids.push(material.id);
    }
    const due = httpRequest('/v1/reviews/due', key);
    const review = httpRequest(`/v1/reviews/${ids[index % ids.length]}`, key, { quality: index % 6 });
    requests.push(due, review, due, httpRequest('/v1/materials?limit=10', key), due, review, due);
    requests.push(httpRequest('/v1/search?q=material%201', key), httpRequest('/v1/me', key), due);
  }
  return requests;
}

async function askGateway({ gateway }: Soaked): Promise<void> {
  const query = '{ users(first: 10) { nodes { email materials(first: 5) { nodes { title } } } } }';
  const response = await fetch(`${gateway.origin}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { errors } = (await response.json()) as { errors?: unknown };
  if (errors !== undefined) throw new Error(`the gateway failed: ${JSON.stringify(errors)}`);
}

function report(
  samples: readonly Sample[],
  slices: readonly Slice[],
  run: { ratePerSecond: number; minutes: number },
): number {
  const { ratePerSecond, minutes } = run;
  const settled = samples.find(({ minute }) => minute >= minutes / 3) ?? samples[0];
  const last = samples.at(-1);
  const names = Object.keys(last?.held ?? {});
  const limit = minutes >= 30 ? 3e6 : 15e6;
  let failed = 0;
  for (const name of names) {
    const [before, after] = [settled?.held[name], last?.held[name]];
    if (before === undefined || after === undefined) continue;
    const grown = after.heapBytes - before.heapBytes;
    const isWrong = grown >= limit || after.handles > before.handles + 5;
    failed += isWrong ? 1 : 0;
    process.stdout.write(
      `${isWrong ? 'GROWS' : 'ok   '} ${name.padEnd(10)} heap ${mb(before.heapBytes)} -> ${mb(after.heapBytes)} MB, ` +
        `resident ${mb(after.rssBytes)} MB, handles ${before.handles} -> ${after.handles}\n`,
    );
  }
  const statuses: Record<string, number> = {};
  for (const slice of slices) {
    for (const [status, count] of Object.entries(slice.statuses))
      statuses[status] = (statuses[status] ?? 0) + count;
  }
  process.stdout.write(`answers at ${ratePerSecond} a second: ${JSON.stringify(statuses)}\n`);
  const folder = join(root, '.soak');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'soak.json'),
    `${JSON.stringify({ ratePerSecond, samples, slices }, null, 1)}\n`,
  );
  const wrong = Object.keys(statuses).filter((status) => status !== '200' && status !== '503');
  return failed > 0 || wrong.length > 0 ? 1 : 0;
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
