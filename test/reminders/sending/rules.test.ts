// The rules of sending: whether a delivery is sent, where it goes, what it says, and what follows from how the attempt ended.
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { ServiceError } from '../../../services/platform/errors.ts';
import type { SendResult } from '../../../services/reminders/channels/channel.ts';
import type { Account, DueCount, Peers } from '../../../services/reminders/peers.ts';
import { attempt, outcomeOf } from '../../../services/reminders/sending/attempt.ts';
import { asOfTime, decideBefore, decideByDue } from '../../../services/reminders/sending/decision.ts';
import { askFacts } from '../../../services/reminders/sending/facts.ts';
import type { LeasedWork } from '../../../services/reminders/sending/leases-repository.ts';
import { nextStep, peersAway } from '../../../services/reminders/sending/next-step.ts';
import { reachByEmail, reachByPush, reachNobody } from '../../../services/reminders/sending/reach.ts';
import { retryOrGiveUp } from '../../../services/reminders/sending/retries.ts';
import { message } from '../channels/message.ts';

const DUE = '2026-07-01T09:00:00Z';
const at = (time: string) => new Date(time);

const settings = (fields: Partial<NonNullable<LeasedWork['reminder']>> = {}) => ({
  isEnabled: true,
  pausedUntilTime: null,
  minDue: 3,
  onlyIfNotReviewedToday: false,
  timeZone: 'Europe/Berlin',
  ...fields,
});
const work = (fields: Partial<LeasedWork> = {}): LeasedWork => ({
  userId: 'ada',
  deliveryId: 'delivery',
  lease: 1,
  subscriptionId: 'subscription',
  attempts: 0,
  emailIsOn: true,
  unsubscribeToken: Buffer.from([251, 255, 0]),
  push: null,
  isTest: false,
  localDate: '2026-07-01',
  dueTime: at(DUE),
  failure: null,
  reminder: settings(),
  ...fields,
});
const account = (userId: string): Account => ({
  userId,
  email: `${userId}@example.com`,
  firstName: 'Ada',
  timeZone: 'UTC',
  updateTime: new Date(0),
});

describe('before it is known what is due, a delivery', () => {
  const LATE = { state: 'skipped', skipReason: 'late' };
  const PAUSED = { state: 'skipped', skipReason: 'paused' };
  const decided = (fields: Partial<LeasedWork>, now = DUE) => decideBefore(work(fields), at(now));

  test('may be sent until two hours after its turn, and is skipped a millisecond later', () => {
    expect(decided({}, '2026-07-01T11:00:00.000Z')).toBeUndefined();
    expect(decided({}, '2026-07-01T11:00:00.001Z')).toEqual(LATE);
    expect(decided({ isTest: true }, '2026-07-01T11:00:00.000Z')).toBeUndefined();
    expect(decided({ isTest: true }, '2026-07-01T11:00:00.001Z')).toEqual(LATE);
  });

  test('that has failed before is then given up, and says why', () => {
    expect(decided({ failure: 'The server is busy.' }, '2026-07-01T11:00:00.000Z')).toBeUndefined();
    expect(decided({ failure: 'The server is busy.' }, '2026-07-01T11:00:00.001Z')).toEqual({
      state: 'failed',
      cause: 'gave up',
      failure: 'The server is busy. Sending was given up after 2 hours.',
    });
  });

  test('is skipped while its reminder is off or paused, or once it is deleted', () => {
    const paused = (pausedUntilTime: string) => ({
      reminder: settings({ pausedUntilTime: at(pausedUntilTime) }),
    });
    expect(decided({ reminder: settings({ isEnabled: false }) })).toEqual(PAUSED);
    expect(decided({ reminder: null })).toEqual(PAUSED);
    expect(decided(paused('2026-07-01T09:00:00.001Z'))).toEqual(PAUSED);
    expect(decided(paused('2026-07-01T09:00:00.000Z'))).toBeUndefined();
    expect(decided(paused('2026-06-30T09:00:00.000Z'))).toBeUndefined();
  });

  test('that is a test is sent all the same', () => {
    expect(decided({ isTest: true, reminder: null })).toBeUndefined();
    expect(decided({ isTest: true, reminder: settings({ isEnabled: false }) })).toBeUndefined();
  });
});

describe('what is due is asked', () => {
  const asked = (now: string, reminder: LeasedWork['reminder']) =>
    asOfTime(work({ reminder }), at(now)).toISOString();
  const notReviewed = settings({ onlyIfNotReviewedToday: true });

  test('as of now, unless the date on which a review counts is over in the user’s zone', () => {
    expect(asked('2026-07-01T21:59:59.998Z', notReviewed)).toBe('2026-07-01T21:59:59.998Z');
    expect(asked('2026-07-01T21:59:59.999Z', notReviewed)).toBe('2026-07-01T21:59:59.999Z');
    expect(asked('2026-07-01T22:30:00.000Z', notReviewed)).toBe('2026-07-01T21:59:59.999Z');
    expect(asked('2026-07-01T22:30:00.000Z', settings())).toBe('2026-07-01T22:30:00.000Z');
    expect(asked('2026-07-01T22:30:00.000Z', null)).toBe('2026-07-01T22:30:00.000Z');
  });

  test('as of now in a zone that Node does not know', () => {
    const nowhere = settings({ onlyIfNotReviewedToday: true, timeZone: 'Mars/Olympus' });
    expect(asked('2026-07-03T00:00:00.000Z', nowhere)).toBe('2026-07-03T00:00:00.000Z');
  });
});

describe('once it is known what is due, a delivery', () => {
  const decided = (due: { dueCount: number; reviewedToday: boolean }, fields: Partial<LeasedWork> = {}) =>
    decideByDue(work(fields), due);
  const notReviewed = { reminder: settings({ onlyIfNotReviewedToday: true }) };

  test('is sent from as many on as its reminder asks for', () => {
    expect(decided({ dueCount: 3, reviewedToday: false })).toBeUndefined();
    expect(decided({ dueCount: 2, reviewedToday: false })).toEqual({
      state: 'skipped',
      skipReason: 'nothing due',
    });
  });

  test('is skipped for one who has reviewed today, if its reminder says so', () => {
    expect(decided({ dueCount: 3, reviewedToday: true }, notReviewed)).toEqual({
      state: 'skipped',
      skipReason: 'already reviewed',
    });
    expect(decided({ dueCount: 3, reviewedToday: false }, notReviewed)).toBeUndefined();
    expect(decided({ dueCount: 3, reviewedToday: true })).toBeUndefined();
  });

  test('is sent whatever is due, if it is a test or its reminder is deleted', () => {
    const none = { dueCount: 0, reviewedToday: true };
    expect(decided(none, { isTest: true, ...notReviewed })).toBeUndefined();
    expect(decided(none, { reminder: null })).toBeUndefined();
  });
});

describe('the users and what is due', () => {
  const NOW = at(DUE);
  const due: DueCount = { dueCount: 1, titles: ['Mitosis'], reviewedToday: false };
  /** Accounts without `unknown`, and scheduling that refuses `bad` with everyone in the same batch. */
  function peers(options: { unknown?: string; bad?: readonly string[]; error?: Error } = {}) {
    const { unknown, bad = [], error = new ServiceError('INVALID_REQUEST') } = options;
    const batches: string[] = [];
    const found: Pick<Peers, 'findAccounts' | 'countDue'> = {
      findAccounts: async (userIds) =>
        new Map(userIds.filter((id) => id !== unknown).map((id) => [id, account(id)])),
      async countDue(users, asOf) {
        batches.push(users.map(({ userId }) => userId).join(' '));
        expect(asOf).toBe(NOW);
        if (users.some(({ userId }) => bad.includes(userId))) throw error;
        return new Map(users.map(({ userId }) => [userId, due]));
      },
    };
    return { ...(found as Peers), batches };
  }

  test('are asked for together, without users whom accounts does not know', async () => {
    const all = peers({ unknown: 'bob' });
    const facts = await askFacts(all, ['ada', 'bob', 'eve'], NOW);
    expect([...facts.accounts.keys()]).toEqual(['ada', 'eve']);
    expect([...facts.due]).toEqual([
      ['ada', due],
      ['eve', due],
    ]);
    expect(all.batches).toEqual(['ada eve']);
  });

  test('are not asked for where there is nobody', async () => {
    const none = { findAccounts: () => expect.fail('asked'), countDue: () => expect.fail('asked') };
    expect(await askFacts(none as unknown as Peers, [], NOW)).toEqual({
      accounts: new Map(),
      due: new Map(),
    });
  });

  test('are asked for in halves where scheduling refuses one, until only that one is left out', async () => {
    const one = peers({ bad: ['c'] });
    const facts = await askFacts(one, ['a', 'b', 'c', 'd', 'e'], NOW);
    expect([...facts.due.keys()]).toEqual(['a', 'b', 'd', 'e']);
    expect(facts.accounts.size).toBe(5);
    expect(one.batches).toEqual(['a b c d e', 'a b c', 'd e', 'a b', 'c']);
    expect((await askFacts(peers({ bad: ['a'] }), ['a'], NOW)).due).toEqual(new Map());
    expect((await askFacts(peers({ bad: ['a', 'b'] }), ['a', 'b'], NOW)).due).toEqual(new Map());
  });

  test('are not asked for again where scheduling is away', async () => {
    const away = peers({ bad: ['a'], error: new ServiceError('UNAVAILABLE') });
    await expect(askFacts(away, ['a', 'b'], NOW)).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
    expect(away.batches).toEqual(['a b']);
  });
});

describe('the next step of a delivery', () => {
  const options = { reach: reachByEmail, publicUrl: 'https://remind.example.com', random: () => 0.5 };
  const facts = (dueCount?: number) => ({
    accounts: new Map([['ada', account('ada')]]),
    due: new Map(
      dueCount === undefined ? [] : [['ada', { dueCount, titles: ['Mitosis'], reviewedToday: false }]],
    ),
  });

  test('is its message with all that it says, and where it goes', () => {
    expect(nextStep(options, work(), facts(3))).toEqual({
      reach: { address: { email: 'ada@example.com' } },
      message: {
        deliveryId: 'delivery',
        userId: 'ada',
        firstName: 'Ada',
        dueCount: 3,
        titles: ['Mitosis'],
        unsubscribeUrl: 'https://remind.example.com/unsubscribe/-_8A',
        isTest: false,
        dueTime: at(DUE),
      },
    });
  });

  test('is its end for a user who is gone, who does not want it, or who has too little due', () => {
    expect(nextStep(options, work({ userId: 'bob' }), facts(3))).toEqual({
      state: 'failed',
      cause: 'no user',
      failure: 'This user no longer exists.',
    });
    expect(nextStep(options, work({ emailIsOn: false }), facts(3))).toEqual({
      state: 'failed',
      cause: 'e-mail off',
      failure: 'E-mail was switched off before this was sent.',
    });
    expect(nextStep(options, work(), facts(2))).toEqual({ state: 'skipped', skipReason: 'nothing due' });
  });

  test('is to ask again in 5 to 10 s where scheduling did not say what is due', () => {
    expect(nextStep(options, work(), facts())).toEqual({ state: 'pending', retryInMs: 7500 });
    expect(peersAway(() => 0)).toEqual({ state: 'pending', retryInMs: 5000 });
    expect(peersAway(() => 1)).toEqual({ state: 'pending', retryInMs: 10_000 });
  });
});

describe('a push message', () => {
  test('goes to the subscription, and counts among those to its host and port', () => {
    const push = { endpoint: 'https://push.example.com:8443/send/abc', p256dh: 'p', auth: 'a' };
    expect(reachByPush(work({ push }))).toEqual({ address: push, host: 'push.example.com:8443' });
  });

  test('fails once the subscription is removed, and waits a minute where push is not set up', () => {
    expect(reachByPush(work())).toEqual({
      state: 'failed',
      cause: 'no subscription',
      failure: 'The push subscription was removed before this was sent.',
    });
    expect(reachNobody()).toEqual({ state: 'pending', retryInMs: 60_000, failure: 'Push is not set up.' });
  });
});

describe('an attempt', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  const sentBy = (send: () => Promise<SendResult>) =>
    attempt({ send, close: async () => {} }, { address: {}, message: message(), logger });
  const ERROR = { result: 'retry', reason: 'An error in the reminders service prevented sending.' };

  test('ends as the channel says', async () => {
    expect(await sentBy(async () => ({ result: 'sent' }))).toEqual({ result: 'sent' });
  });

  test.each([
    ['an error of ours', new ServiceError('UNAVAILABLE'), 'UNAVAILABLE'],
    ['another error', new TypeError('ada@example.com'), 'TypeError'],
    ['what is no error', 'ada@example.com', 'error'],
  ])('that throws %s is to be made again, and logged without the address', async (_what, thrown, code) => {
    lines.length = 0;
    expect(await sentBy(() => Promise.reject(thrown))).toEqual(ERROR);
    const { deliveryId } = message();
    expect(lines).toEqual([{ level: 50, code, deliveryId, msg: 'a channel failed' }]);
  });

  test('that is not answered within 45 s is to be made again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let ended: SendResult | undefined;
      const attempted = sentBy(() => new Promise(() => {})).then((result) => {
        ended = result;
      });
      await vi.advanceTimersByTimeAsync(44_999);
      await new Promise(setImmediate);
      expect(ended).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1);
      await attempted;
      expect(ended).toEqual({ result: 'retry', reason: 'There was no answer within 45 s.' });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('the outcome of an attempt', () => {
  const tried = { attempts: 2, dueTime: at(DUE), now: at(DUE), random: 0 };
  const refused = (isGone: boolean): SendResult => ({ result: 'failed', reason: 'No.', isGone });

  test('is that it is sent, or that it is tried again', () => {
    expect(outcomeOf({ result: 'sent' }, 'email', tried)).toEqual({ state: 'sent' });
    expect(outcomeOf({ result: 'retry', reason: 'Busy.' }, 'email', tried)).toEqual({
      state: 'pending',
      retryInMs: 30_000,
      failure: 'Busy.',
    });
  });

  test('is a refusal, and only of push that the address is gone', () => {
    const failure = (cause: string, isGone: boolean) => ({ state: 'failed', cause, failure: 'No.', isGone });
    expect(outcomeOf(refused(true), 'push', tried)).toEqual(failure('gone', true));
    expect(outcomeOf(refused(false), 'push', tried)).toEqual(failure('refused', false));
    expect(outcomeOf(refused(true), 'email', tried)).toEqual(failure('refused', false));
  });

  test('is given up after as many attempts as were made', () => {
    const now = at('2026-07-01T11:00:00Z');
    expect(retryOrGiveUp({ reason: 'Busy.' }, { ...tried, now })).toEqual({
      state: 'failed',
      cause: 'gave up',
      failure: 'Busy. Sending was given up after 2 attempts.',
    });
  });
});
