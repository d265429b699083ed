// All learners over GraphQL: each figure under its name, in each order, with the user it belongs to.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Days, dayOf, figuresOf } from '../../services/scheduling/learners/rules.ts';
import { storeLearners } from '../../services/scheduling/learners/sql.ts';
import { countLearnersNow, openForCounts } from '../support/count-learners.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('a learner', () => {
  test('has each figure under its name, and what is not known is null', async () => {
    const [ana, gone, bea] = await nodesOf('', ALL);
    expect(ana).toEqual({
      userId: ids[0],
      user: { email: emails[0] },
      reviewsWeek: 11,
      reviewsWeekBefore: 12,
      month: { reviews: 40, recalled: 30, retention: 0.75 },
      // None of 41 recalled is known.
      monthBefore: { reviews: 41, recalled: 0, retention: 0 },
      lastReviewOn: '2026-03-01',
      streakDays: 13,
      brokenStreakDays: 0,
      due: 25,
      overdue: 0,
      dueBefore: 16,
      backlogGrowing: true,
      wentQuiet: false,
    });
    expect(bea).toMatchObject({
      user: { email: emails[1] },
      monthBefore: { reviews: 0, recalled: 0, retention: null },
      brokenStreakDays: 8,
      dueBefore: null,
      backlogGrowing: false,
    });
    expect(gone).toMatchObject({ userId: ids[2], user: null, lastReviewOn: null, due: 18, dueBefore: 0 });
    expect(gone.month).toEqual({ reviews: 0, recalled: 0, retention: null });
  });
});

describe('the list of learners', () => {
  const names = async (rest: string) =>
    (await nodesOf(rest, 'userId')).map(({ userId }: { userId: string }) => ids.indexOf(userId));

  test('has most due first, or the order that is asked for', async () => {
    expect(await names('')).toEqual([0, 2, 1]);
    expect(await names('(order: DUE)')).toEqual([0, 2, 1]);
    expect(await names('(order: null, filter: null)')).toEqual([0, 2, 1]);
    expect(await names('(order: REVIEWS)')).toEqual([1, 0, 2]);
    expect(await names('(order: RETENTION)')).toEqual([1, 0]);
    expect(await names('(order: LAST_REVIEW)')).toEqual([0, 1]);
  });

  test('has those alone who need attention', async () => {
    expect(await names('(filter: BACKLOG_GROWING)')).toEqual([0]);
    expect(await names('(filter: STREAK_BROKEN)')).toEqual([1]);
    expect(await names('(order: LAST_REVIEW, filter: STREAK_BROKEN)')).toEqual([1]);
    expect(await names('(order: RETENTION, filter: BACKLOG_GROWING)')).toEqual([0]);
  });

  test('goes on after a row, with the users of each page in one call, and asks for none where it is empty', async () => {
    const page = `query ($after: String) { learners(first: 2, after: $after) { nodes { userId user { email } }
      pageInfo { hasNextPage endCursor } } }`;
    const first = (await gateway.query(page)).data.learners;
    expect(first.nodes.map(({ userId }: { userId: string }) => userId)).toEqual([ids[0], ids[2]]);
    expect(first.pageInfo.hasNextPage).toBe(true);
    const rpcs = await gateway.rpcsOf(async () => {
      const { learners } = (await gateway.query(page, { after: first.pageInfo.endCursor })).data;
      expect(learners.nodes).toEqual([{ userId: ids[1], user: { email: emails[1] } }]);
      expect(learners.pageInfo.hasNextPage).toBe(false);
    });
    expect(rpcs).toEqual(['listLearners', 'batchGetUsers']);
    const sql = new Client({ connectionString: system.databaseUrl });
    await sql.connect();
    await sql.query('UPDATE scheduling.learners SET streak_broken = false');
    await sql.end();
    expect(await gateway.rpcsOf(() => names('(filter: STREAK_BROKEN)'))).toEqual(['listLearners']);
    await store();
  });
});

test('the overview counts all, as of when they were counted, and its last day is that day', async () => {
  const { overview } = (
    await gateway.query(
      '{ overview { asOf learners activeWeek activeMonth due backlogGrowing streakBroken days { date learners due } } }',
    )
  ).data;
  expect(overview).toMatchObject({ learners: 3, activeWeek: 0, activeMonth: 0, due: 3, backlogGrowing: 0 });
  expect(overview.days).toHaveLength(60);
  expect(overview.days[59]).toEqual({ date: overview.asOf.slice(0, 10), learners: 0, due: 3 });
  expect(overview.days[0].due).toBeNull();
});

test('the overview has each figure under its name, and what was due on a day is 0, or null where it was not counted', async () => {
  const figures = {
    learners: 9,
    activeWeek: 2,
    activeWeekBefore: 3,
    activeMonth: 4,
    activeMonthBefore: 5,
    due: 60,
    overdue: 50,
    backlogGrowing: 7,
    streakBroken: 8,
    wentQuiet: 6,
  };
  const days = [
    { date: '2026-03-30', learners: 1, reviews: 12, recalled: 11, due: null },
    { date: '2026-03-31', learners: 0, reviews: 0, recalled: 0, due: 0 },
    { date: '2026-04-01', learners: 2, reviews: 22, recalled: 21, due: 60 },
  ];
  const sql = new Client({ connectionString: system.databaseUrl });
  await sql.connect();
  // Of an hour to come: no count replaces it.
  const asOf = new Date(Date.now() + 3_600_000).toISOString();
  await sql.query('UPDATE scheduling.overview SET as_of_time = $1, summary = $2', [
    asOf,
    JSON.stringify({ ...figures, days }),
  ]);
  await sql.end();
  const query = `{ overview { asOf ${Object.keys(figures).join(' ')} days { date learners reviews recalled due } } }`;
  const { overview } = (await gateway.query(query)).data;
  expect(overview).toEqual({ asOf, ...figures, days });
});

const CALL = { requestId: 'test' };
let system: TestSystem;
let gateway: TestGateway;
/** Three learners, of whom the last is gone from accounts. */
const ids: string[] = [];
const emails: string[] = [];

async function startAll(): Promise<void> {
  system = await startSystem();
  gateway = await startTestGateway(system);
  for (const name of ['ana', 'bea', 'gone']) {
    const { user } = await gateway.clients.users.createUser({ email: `${name}@example.com` }, CALL);
    ids.push(user?.userId ?? '');
    emails.push(user?.email ?? '');
    await gateway.clients.materials.createMaterial({ userId: user?.userId ?? '', title: 't' }, CALL);
  }
  await gateway.clients.users.deleteUser({ userId: ids[2] ?? '' }, CALL);
  await countLearnersNow(system.databaseUrl);
  await store();
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await system.stop();
}

const NONE = Array<number>(15).fill(0);

const ALL = `userId user { email } reviewsWeek reviewsWeekBefore month { reviews recalled retention }
  monthBefore { reviews recalled retention } lastReviewOn streakDays brokenStreakDays due overdue dueBefore backlogGrowing wentQuiet`;

/** Figures that no two of are alike, as a count stores them. */
async function store(): Promise<void> {
  const database = await openForCounts(system.databaseUrl);
  const days: [string, Days][] = [
    [
      '2026-03-02',
      {
        reviews: sixty(0, 6, 1, 1, 1, 1, 1, 6, 1, 1, 1, 1, 1, 1, 0, 17, ...NONE, 41),
        recalled: sixty(0, 6, 1, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 17),
        dues: [25, 0, 0, 0, 0, 0, 0, 16],
      },
    ],
    [
      '2026-03-05',
      {
        reviews: sixty(0, 0, 53, 1, 1, 1, 1, 1, 1, 1),
        recalled: sixty(0, 0, 9),
        dues: [17, 0, 0, 0, 0, 0, 0, null],
      },
    ],
    ['2026-03-05', { reviews: sixty(), recalled: sixty(), dues: [18, 0, 0, 0, 0, 0, 0, 0] }],
  ];
  for (const [index, [date, of]] of days.entries()) {
    const asOf = new Date(date);
    const learner = { countedDay: dayOf(asOf), days: of };
    const stored = { ...learner, userId: ids[index] ?? '', figures: figuresOf(learner) };
    await storeLearners(database, [stored], asOf);
  }
  await database.close();
}

/** By age of the day, filled up to 60. */
const sixty = (...values: number[]) => [...values, ...Array<number>(60 - values.length).fill(0)];

const nodesOf = async (rest: string, fields: string) =>
  (await gateway.query(`{ learners${rest} { nodes { ${fields} } } }`)).data.learners.nodes;
