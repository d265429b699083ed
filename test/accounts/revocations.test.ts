// When the stream of revocations may beat, and when it has to end, on a real PostgreSQL.
import { Client } from 'pg';
import { pino } from 'pino';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  inject,
  type MockInstance,
  test,
  vi,
} from 'vitest';
import { announce, createRevocations, type Revocations } from '../../services/accounts/revocations.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);
afterEach(cleanUp);

/** A stream that has ended is noticed after the 20 s of a poll. */
const PATIENT = 120_000;

const testUndisturbed = (name: string, faults: readonly string[], work: () => Promise<void>) =>
  test(name, () => undisturbed(faults, work), PATIENT);

testUndisturbed('a caller hears a beat at once, and nothing once it has gone', [], async () => {
  await watch(here);
  const gone: object[] = [];
  await here.watch(async (event) => void gone.push(event), AbortSignal.abort());
  expect(gone).toEqual([]);
  const going = new AbortController();
  const ended = here.watch(async (event) => void gone.push(event), going.signal);
  ended.catch(() => {});
  expect(gone).toEqual([{ heartbeat: {} }]);
  const stays = await watch(here);
  going.abort();
  await ended;
  const heard = gone.length;
  await notify('{"revokedApiKeyId":"k"}');
  await expect.poll(() => stays.events).toContainEqual({ revokedApiKeyId: 'k' });
  expect(gone).toHaveLength(heard);
});

testUndisturbed(
  'an instance that is closed ends its streams, closes its connections and logs nothing',
  [],
  async () => {
    const [one] = [await watch(here), await watch(there)];
    await Promise.all([here.close(), there.close()]);
    expect(await one.end).toBe('UNAVAILABLE');
    expect([here.isListening(), there.isListening(), lines]).toEqual([false, false, []]);
    await expect.poll(openConnections).toBe(0);
  },
);

testUndisturbed(
  'two instances beat on one channel and hear the same, each told by its own proofs',
  [],
  async () => {
    const [one, other] = [await watch(here), await watch(there)];
    await expect.poll(() => Math.min(beats(one.events), beats(other.events))).toBeGreaterThan(3);
    const query = async <R>({ text, values }: { text: string; values: readonly unknown[] }) =>
      (await administrator.query(text, [...values])).rows as R[];
    await announce({ query }, { revokedApiKeyId: 'k' });
    await announce({ query }, { changedUserId: 'u' });
    for (const { events } of [one, other]) {
      await expect
        .poll(() => events.filter((event) => !('heartbeat' in event)))
        .toEqual([{ revokedApiKeyId: 'k' }, { changedUserId: 'u' }]);
    }
    expect(lines.filter(({ err }) => /an invalid notification/.test(err.message))).toEqual([]);
  },
);

/** No JSON, nothing, no object, none of the events, a value of another type, two events, and a long text. */
const NO_EVENTS = [
  'revoked!',
  '',
  'null',
  '{}',
  '{"forgottenKey":"k"}',
  '{"revokedApiKeyId":1}',
  '{"revokedApiKeyId":"k","changedUserId":"u"}',
  'x'.repeat(300),
];
const invalid = (text: string) => `an invalid notification: ${text.slice(0, 200)}`;

testUndisturbed(
  'a notification that is no event ends the stream, is logged with its first 200 characters, and the next stream beats',
  NO_EVENTS.map(invalid),
  async () => {
    await there.close();
    for (const text of NO_EVENTS) {
      const { end } = await watch(here);
      await notify(text);
      expect(await end, text).toBe('UNAVAILABLE');
    }
    expect(lines).toMatchObject(
      NO_EVENTS.map((text) => ({
        level: 40,
        msg: 'revocation listener lost; retrying',
        err: { message: invalid(text) },
      })),
    );
    const again = await watch(here);
    await expect.poll(() => beats(again.events)).toBeGreaterThan(1);
  },
);

testUndisturbed(
  'each break is logged and closes its connections, and a stream that it has ended hears of no event after it',
  ['once!', 'once!', 'again!', 'again!'].map(invalid),
  async () => {
    const [before] = [await watch(here), await watch(there)];
    await notify('once!');
    expect(await before.end).toBe('UNAVAILABLE');
    const heard = before.events.length;
    const [after] = [await watch(here), await watch(there)];
    await notify('{"revokedApiKeyId":"k"}');
    await expect.poll(() => after.events).toContainEqual({ revokedApiKeyId: 'k' });
    expect(before.events).toHaveLength(heard);
    await notify('again!');
    expect(await after.end).toBe('UNAVAILABLE');
    await Promise.all([watch(here), watch(there)]);
    expect(lines.map(({ err }) => err.message)).toEqual(['once!', 'once!', 'again!', 'again!'].map(invalid));
    await expect.poll(openConnections).toBe(4);
  },
);

testUndisturbed(
  'an instance whose own proofs do not come back beats no more, whatever it hears of others',
  ['a notification did not come back'],
  async () => {
    const [one, other] = [await watch(here), await watch(there)];
    const [, notifier] = connections();
    let end: string | undefined;
    void one.end.then((reason) => (end = reason));
    // What it notifies of now waits for an end of the transaction, which does not come.
    await notifier?.query('BEGIN');
    await expect
      .poll(async () => {
        await notify('{"proof":"of another instance"}');
        return end;
      })
      .toBe('UNAVAILABLE');
    expect(lines).toMatchObject([{ err: { message: 'a notification did not come back' } }]);
    const heard = beats(other.events);
    await expect.poll(() => beats(other.events)).toBeGreaterThan(heard);
  },
);

testUndisturbed(
  'a connection whose LISTEN is deaf beats no more: its streams end, and others hear on',
  ['a notification did not come back'],
  async () => {
    const [one, other] = [await watch(here), await watch(there)];
    const [ofHere] = connections();
    await ofHere?.query('UNLISTEN *');
    const beatsBefore = beats(one.events);
    expect(await one.end).toBe('UNAVAILABLE');
    // One proof may have been on its way.
    expect(beats(one.events) - beatsBefore).toBeLessThanOrEqual(1);
    expect(lines).toMatchObject([{ level: 40, err: { message: 'a notification did not come back' } }]);
    const again = await watch(here);
    await notify('{"revokedApiKeyId":"k"}');
    for (const { events } of [again, other])
      await expect.poll(() => events).toContainEqual({ revokedApiKeyId: 'k' });
  },
);

testUndisturbed(
  'a break is logged once, however often listening is tried again',
  Array(2).fill('terminating connection due to administrator command'),
  async () => {
    const [one, other] = [await watch(here), await watch(there)];
    const outside = new Client({ connectionString: inject('postgresUrl') });
    await outside.connect();
    const name = new URL(database.databaseUrl).pathname.slice(1);
    try {
      await outside.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await outside.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'accounts-revocations'",
        [name],
      );
      expect([await one.end, await other.end]).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
      const tried = connections().length;
      await expect.poll(() => connections().length).toBeGreaterThan(tried + 8);
      expect([here.isListening(), there.isListening()]).toEqual([false, false]);
      expect(() => here.watch(async () => {}, new AbortController().signal)).toThrow(
        expect.objectContaining({ reason: 'UNAVAILABLE' }),
      );
    } finally {
      await outside.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      await outside.end();
    }
    await Promise.all([watch(here), watch(there)]);
    expect(lines.map(({ msg }) => msg)).toEqual(
      Array.from({ length: 2 }, () => 'revocation listener lost; retrying'),
    );
  },
);

test('a first start that cannot listen yet is no warning, until it has taken long', async () => {
  const clock = vi.spyOn(performance, 'now');
  const beganMs = performance.now();
  const said: string[] = [];
  const quiet = pino({}, { write: (line: string) => void said.push(JSON.parse(line).msg) });
  // Nobody listens there.
  const waiting = createRevocations({ databaseUrl: 'postgresql://nobody@127.0.0.1:1/none', logger: quiet });
  const before = connections().length;
  await expect.poll(() => connections().length).toBeGreaterThan(before + 3);
  expect(said).toEqual([]);
  clock.mockReturnValue(beganMs + 60_000);
  await expect.poll(() => said).toEqual(['revocation listener lost; retrying']);
  await waiting.close();
});

let database: TestDatabase;
let administrator: Client;
const lines: Line[] = [];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
let here: Revocations;
let there: Revocations;
let connect: MockInstance<Client['connect']>;

async function startAll(): Promise<void> {
  database = await createMigratedDatabase();
  administrator = new Client({ connectionString: database.databaseUrl });
  await administrator.connect();
}

async function stopAll(): Promise<void> {
  await administrator.end();
  await database.drop();
}

async function prepareEach(): Promise<void> {
  connect = vi.spyOn(Client.prototype, 'connect');
  await renew();
}

async function cleanUp(): Promise<void> {
  await Promise.all([here.close(), there.close()]);
  vi.restoreAllMocks();
}

/** Two instances that listen, and have had no fault. */
async function renew(): Promise<void> {
  const databaseUrl = database.databaseUrl;
  do {
    await Promise.all([here?.close(), there?.close()]);
    lines.length = 0;
    connect.mockClear();
    here = createRevocations({ databaseUrl, logger });
    there = createRevocations({ databaseUrl, logger });
    const listening = () => [here.isListening(), there.isListening()];
    await expect.poll(listening, { interval: 10 }).toEqual([true, true]);
  } while (lines.length > 0);
}

/**
 * On a busy machine a proof can be late, which ends a stream and is logged: `work` is then done again with new instances.
 * `faults`: those that it makes itself.
 */
async function undisturbed(faults: readonly string[], work: () => Promise<void>): Promise<void> {
  for (let left = 4; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      const others = lines.map(({ err }) => err.message);
      for (const fault of faults) if (others.includes(fault)) others.splice(others.indexOf(fault), 1);
      if (left === 0 || others.length === 0) throw error;
    }
    await renew();
  }
}

type Line = { level: number; msg: string; err: { message: string } };

/** Every connection that was opened for the revocations of these instances. */
const connections = () => connect.mock.contexts as Client[];

const notify = (payload: string) =>
  administrator.query('SELECT pg_notify($1, $2)', ['accounts_revocations', payload]);

/** Watches once it can; `events` grows, `end` resolves to the reason for which the stream ends. */
async function watch(revocations: Revocations) {
  await expect.poll(() => revocations.isListening(), { interval: 10 }).toBe(true);
  const events: object[] = [];
  const end = revocations
    .watch(async (event) => void events.push(event), new AbortController().signal)
    .then(
      () => 'closed',
      ({ reason }) => reason,
    );
  return { events, end };
}
const beats = (events: object[]) => events.filter((event) => 'heartbeat' in event).length;
/** Of both instances, as PostgreSQL counts them. */
async function openConnections(): Promise<number> {
  const { rows } = await administrator.query<{ count: string }>(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'accounts-revocations'",
  );
  return Number(rows[0]?.count);
}
