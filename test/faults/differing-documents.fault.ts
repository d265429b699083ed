// Promise: in one process, a caller of the gateway whose documents all differ starves neither the keys of REST nor other callers.

import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStartPlace } from '../support/npm-start.ts';
import { newSecret } from '../support/services.ts';
import { percentile } from '../support/statistics.ts';
import { recordFigure } from './support/figures.ts';
import { ROUNDS, sized } from './support/rounds.ts';

const CONNECTIONS = 32;
const KEYS = 4;
const WHILE_MS = Math.max(3000, sized(10_000));

const [hostile, other] = [newSecret(), newSecret()];
const place = createStartPlace();
let rest: { url: string; token: string };
let graphql: string;
beforeAll(async () => {
  const GATEWAY_TOKENS = `vic:viewer:${hostile},ann:viewer:${other}`;
  const started = await place.start({ GATEWAY_TOKENS, NO_COLOR: '1' });
  graphql = /http:\S+\/graphql/.exec(started.output())?.[0] ?? '';
  rest = { url: `${started.base}/materials?limit=10`, token: started.key };
}, 300_000);
afterAll(() => place.clear());

const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
type Outcome = { status: number; ms: number };

function send(url: string, token: string, body?: string): Promise<Outcome> {
  const beganMs = performance.now();
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const sent = request(url, { agent, headers, method: body ? 'POST' : 'GET' }, (response) => {
      response.resume();
      response.on('close', () =>
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - beganMs }),
      );
    });
    sent.on('error', () => resolve({ status: 0, ms: performance.now() - beganMs }));
    sent.end(body);
  });
}

/** A document of 3 to 20 KB that has not been sent before: valid, or with an unknown field at its end. */
let made = 0;
function differing(): string {
  made += 1;
  const fields = Array.from({ length: 30 + (made % 150) }, (_, index) => `f${made}_${index}: title`);
  const many = made % 3 === 0 ? fields.slice(0, 25) : fields;
  const text = 'x'.repeat((made * 997) % 12_000);
  const filter = `query: "${text.slice(0, 900)}"`;
  const ending = made % 2 === 0 ? 'unknownField' : 'id';
  return `query Q${made} { user(id: "${made}") { materials(${filter}) { nodes { ${many.join(' ')} ${ending} } } } } # ${text}`;
}

/** What keys of REST and another caller of the gateway have for `ms`, in milliseconds at the median. */
async function experience(ms: number) {
  const endMs = performance.now() + ms;
  const seen: Record<'rest' | 'graphql', Outcome[]> = { rest: [], graphql: [] };
  const repeat = async (kind: 'rest' | 'graphql', ask: () => Promise<Outcome>) => {
    while (performance.now() < endMs) {
      seen[kind].push(await ask());
      await sleep(20);
    }
  };
  const query = JSON.stringify({ query: '{ users(first: 5) { nodes { id email } } }' });
  await Promise.all([
    ...Array.from({ length: KEYS }, () => repeat('rest', () => send(rest.url, rest.token))),
    repeat('graphql', () => send(graphql, other, query)),
  ]);
  const medianOf = (outcomes: Outcome[]) =>
    percentile(
      outcomes.map((each) => each.ms),
      50,
    );
  const refused = Object.values(seen)
    .flat()
    .filter(({ status }) => status !== 200);
  return { restMs: medianOf(seen.rest), graphqlMs: medianOf(seen.graphql), refused };
}

test('32 connections of documents that all differ leave others nearly what they had', async () => {
  await experience(2000);
  const calm = await experience(WHILE_MS);
  expect(calm.refused).toEqual([]);
  let ends = false;
  const statuses = new Map<number, number>();
  const attack = Array.from({ length: CONNECTIONS }, async () => {
    while (!ends) {
      const { status } = await send(graphql, hostile, JSON.stringify({ query: differing() }));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  await sleep(500);
  const beside = await experience(WHILE_MS);
  ends = true;
  await Promise.all(attack);
  process.stdout.write(
    `${JSON.stringify({ calm, beside: { ...beside, refused: beside.refused.length }, statuses: [...statuses] })}\n`,
  );
  expect(beside.refused).toEqual([]);
  for (const [who, bar, ratio] of [
    ['the keys of REST', 3, beside.restMs / calm.restMs],
    ['another caller of the gateway', 5, beside.graphqlMs / calm.graphqlMs],
  ] as const)
    recordFigure({
      promise: `beside a caller of the gateway whose documents all differ: the median of ${who} rises to at most`,
      measured: ratio,
      bar,
      unit: 'ratio',
      over: `${CONNECTIONS} connections, documents of 3 to 20 KB, ${WHILE_MS / 1000} s in npm start`,
    });
  expect(ROUNDS).toBeGreaterThan(0);
});
