// The rules of sending: whether a delivery is sent when its turn comes, and what follows from how the attempt ended.
import { describe, expect, test } from 'vitest';
import type { SendResult } from '../../services/reminders/channels/channel.ts';
import {
  type Answers,
  afterAttempt,
  asOfTime,
  decide,
  type LeasedDelivery,
} from '../../services/reminders/deliveries/decide.ts';

describe('whatever is due, a delivery', () => {
  test('may be sent until two hours after its turn, and is skipped a millisecond later', () => {
    for (const isTest of [false, true]) {
      expect(decided({ isTest }, due(3), '2026-07-01T11:00:00.000Z')).toBe('send');
      expect(decided({ isTest }, due(3), '2026-07-01T11:00:00.001Z')).toEqual(LATE);
    }
  });

  test('that has failed before is then given up, and says why', () => {
    const failure = 'The server is busy.';
    expect(decided({ failure }, due(3), '2026-07-01T11:00:00.000Z')).toBe('send');
    expect(decided({ failure }, due(3), '2026-07-01T11:00:00.001Z')).toEqual({
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
    expect(decided(paused('2026-07-01T09:00:00.000Z'))).toBe('send');
    expect(decided(paused('2026-06-30T09:00:00.000Z'))).toBe('send');
  });

  test('that is a test is sent all the same', () => {
    expect(decided({ isTest: true, reminder: null }, due(0, true))).toBe('send');
    expect(decided({ isTest: true, reminder: settings({ isEnabled: false }) }, due(0))).toBe('send');
    expect(
      decided({ isTest: true, reminder: settings({ onlyIfNotReviewedToday: true }) }, due(0, true)),
    ).toBe('send');
  });

  test('is not the 21st mail of a user and local date, be it a test', () => {
    const tooMany = { state: 'failed', cause: 'too many', failure: 'At most 20 mails a day are sent.' };
    expect(decided({ mailsBefore: 19 })).toBe('send');
    expect(decided({ mailsBefore: 20 })).toEqual(tooMany);
    expect(decided({ mailsBefore: 20, isTest: true })).toEqual(tooMany);
  });

  test('waits 10 s where scheduling or accounts is away, but not beyond two hours', () => {
    expect(decide(work(), undefined, at(DUE))).toEqual(AWAY);
    expect(decided({}, { isKnown: true, due: undefined })).toEqual(AWAY);
    expect(decide(work(), undefined, at('2026-07-01T11:00:00.001Z'))).toEqual(LATE);
  });

  test('fails for a user whom accounts no longer knows', () => {
    expect(decided({}, { isKnown: false, due: undefined })).toEqual({
      state: 'failed',
      cause: 'no user',
      failure: 'This user no longer exists.',
    });
  });
});

const settings = (fields: Partial<NonNullable<LeasedDelivery['reminder']>> = {}) => ({
  isEnabled: true,
  pausedUntilTime: null,
  minDue: 3,
  onlyIfNotReviewedToday: false,
  timeZone: 'Europe/Berlin',
  minuteOfDay: 660,
  weekdays: [1, 2, 3, 4, 5, 6, 7],
  labels: [],
  ...fields,
});

describe('a delivery', () => {
  const notReviewed = { reminder: settings({ onlyIfNotReviewedToday: true }) };

  test('is sent from as many on as its reminder asks for', () => {
    expect(decided({}, due(3))).toBe('send');
    expect(decided({}, due(2))).toEqual({ state: 'skipped', skipReason: 'nothing due' });
  });

  test('is skipped for one who has reviewed today, if its reminder says so', () => {
    expect(decided(notReviewed, due(3, true))).toEqual({ state: 'skipped', skipReason: 'already reviewed' });
    expect(decided(notReviewed, due(3))).toBe('send');
    expect(decided({}, due(3, true))).toBe('send');
  });
});

describe('what is due is asked', () => {
  const asked = (now: string, reminder: LeasedDelivery['reminder']) =>
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

describe('after an attempt', () => {
  const outcomeOf = (
    sent: SendResult,
    { attempts = 1, random = 0, now = DUE }: { attempts?: number; random?: number; now?: string } = {},
  ) => afterAttempt(sent, { attempts, dueTime: at(DUE), now: at(now), random });
  const busy: SendResult = { result: 'retry', reason: 'Busy.' };

  test('a delivery is sent, or has failed for the reason that the channel gives', () => {
    expect(outcomeOf({ result: 'sent' })).toEqual({ state: 'sent' });
    expect(outcomeOf({ result: 'failed', reason: 'No.', cause: 'gone' })).toEqual({
      state: 'failed',
      cause: 'gone',
      failure: 'No.',
    });
  });

  test('the wait doubles from 30 s to 15 min, half of it by chance', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7].map((attempts) => outcomeOf(busy, { attempts }));
    expect(waits.map((outcome) => 'retryInMs' in outcome && outcome.retryInMs / 1000)).toEqual([
      15, 30, 60, 120, 240, 450, 450,
    ]);
    expect(outcomeOf(busy, { random: 0.5 })).toEqual({
      state: 'pending',
      retryInMs: 22_500,
      failure: 'Busy.',
    });
  });

  test('the receiver may ask for more, but not for less', () => {
    expect(outcomeOf({ ...busy, retryAfterMs: 600_000 })).toMatchObject({ retryInMs: 600_000 });
    expect(outcomeOf({ ...busy, retryAfterMs: 1000 })).toMatchObject({ retryInMs: 15_000 });
  });

  test('a refusal of us stays one', () => {
    expect(outcomeOf({ ...busy, refusesUs: true })).toMatchObject({ state: 'pending', refusesUs: true });
  });

  test('two hours after the instant is the last time, a millisecond later none', () => {
    expect(outcomeOf(busy, { now: '2026-07-01T10:59:45.000Z' })).toMatchObject({ state: 'pending' });
    expect(outcomeOf(busy, { now: '2026-07-01T10:59:45.001Z' })).toEqual({
      state: 'failed',
      cause: 'gave up',
      failure: 'Busy. Sending was given up after 1 attempt.',
    });
    expect(outcomeOf(busy, { attempts: 2, now: '2026-07-01T11:00:00Z' })).toMatchObject({
      failure: 'Busy. Sending was given up after 2 attempts.',
    });
  });
});

const DUE = '2026-07-01T09:00:00Z';

const LATE = { state: 'skipped', skipReason: 'late' };
const PAUSED = { state: 'skipped', skipReason: 'paused' };
const AWAY = { state: 'pending', retryInMs: 10_000 };

const at = (time: string) => new Date(time);

const work = (fields: Partial<LeasedDelivery> = {}): LeasedDelivery => ({
  userId: 'ada',
  deliveryId: 'delivery',
  lease: 1,
  attempts: 0,
  mailsBefore: 0,
  emailIsOn: true,
  unsubscribeToken: Buffer.from([251, 255, 0]),
  subscription: null,
  isTest: false,
  localDate: '2026-07-01',
  dueTime: at(DUE),
  failure: null,
  reminder: settings(),
  ...fields,
});
const due = (dueCount: number, reviewedToday = false): Answers => ({
  isKnown: true,
  due: { dueCount, reviewedToday },
});
const decided = (fields: Partial<LeasedDelivery>, answers: Answers | undefined = due(3), now = DUE) =>
  decide(work(fields), answers, at(now));
