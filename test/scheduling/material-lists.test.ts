import { describe, expect } from 'vitest';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

describe('pages of materials', () => {
  test('neither repeat nor hide a row while others are written and removed', async ({ userId }) => {
    const ids: string[] = [];
    for (let index = 0; index < 10; index += 1) ids.push(await here.create(userId, `old ${index}`));
    const read = await readAll({ userId, pageSize: 3 }, async () => {
      await here.create(userId, 'new');
      await here.materials.deleteMaterial({ userId, materialId: ids.pop() ?? '' });
    });
    // Newest first; what is removed behind the reader's back was read before, and nothing new appears.
    expect(read).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((index) => `old ${index}`));
  });

  test('come in each order, with a total order among equals', async ({ userId }) => {
    const ids = new Map<string, string>();
    for (const [index, title] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      here.setClock(`2026-04-0${index + 1}T12:00:00Z`);
      ids.set(title, await here.create(userId, title));
    }
    const review = async (title: string, quality: number, time: string) => {
      here.setClock(time);
      const materialId = ids.get(title) ?? '';
      await here.reviews.submitReview({ userId, materialId, quality });
    };
    // Then a has 2.60 and is due on 8 May, b 1.70 on 4 May, c 2.36 on 3 May; d and e were never reviewed.
    await review('a', 5, '2026-05-01T12:00:00Z');
    await review('c', 3, '2026-05-02T12:00:00Z');
    await review('a', 4, '2026-05-02T13:00:00Z');
    await review('b', 0, '2026-05-03T12:00:00Z');
    const read = (order: ListMaterialsRequestInput['order'], request = {}) =>
      readAll({ userId, pageSize: 2, ...(order && { order }), ...request });
    expect(await read('MATERIAL_ORDER_NEWEST')).toEqual(['e', 'd', 'c', 'b', 'a']);
    expect(await read('MATERIAL_ORDER_NEXT_REVIEW')).toEqual(['d', 'e', 'c', 'b', 'a']);
    expect(await read('MATERIAL_ORDER_LAST_REVIEW')).toEqual(['d', 'e', 'c', 'a', 'b']);
    expect(await read('MATERIAL_ORDER_EASE')).toEqual(['b', 'c', 'd', 'e', 'a']);
    expect(await read('MATERIAL_ORDER_EASE', { due: 'DUE_STATE_DUE', type: 'MATERIAL_TYPE_SIMPLE' })).toEqual(
      ['c', 'd', 'e'],
    );
    await here.materials.archiveMaterial({ userId, materialId: ids.get('c') ?? '' });
    expect(await read('MATERIAL_ORDER_EASE')).toEqual(['b', 'd', 'e', 'a']);
    expect(await read('MATERIAL_ORDER_EASE', { state: 'MATERIAL_STATE_ARCHIVED' })).toEqual(['c']);
    expect(await here.materials.countMaterials({ userId })).toEqual({
      active: 4,
      due: 2,
      archived: 1,
      leeches: 0,
    });
    here.setClock(undefined);

    const order = 'MATERIAL_ORDER_EASE' as const;
    const { nextPageToken } = await here.materials.listMaterials({ userId, pageSize: 1, order });
    const list = (request: object) =>
      refusal(here.materials.listMaterials({ userId, pageToken: nextPageToken, ...request }));
    expect(await list({ order })).toBe('no error');
    expect(await list({})).toBe('INVALID_REQUEST page_token');
    expect(await list({ order: 'MATERIAL_ORDER_NEXT_REVIEW' })).toBe('INVALID_REQUEST page_token');
    expect(await list({ order, query: 'a' })).toBe('INVALID_REQUEST order');
    expect(await list({ order: 9 })).toBe('INVALID_REQUEST order');
  });

  test('of materials without a time for their order come first, whatever the page size', async ({
    userId,
  }) => {
    const ids = [];
    for (const title of ['a', 'b', 'c', 'd']) ids.push(await here.create(userId, title));
    const noInstant = 'UPDATE scheduling.materials SET next_review_time = NULL WHERE material_id = ANY($1)';
    await here.sql.query(noInstant, [ids.slice(0, 2)]);
    await here.reviews.submitReview({ userId, materialId: ids[3] ?? '', quality: 5 });
    for (const order of ['MATERIAL_ORDER_NEXT_REVIEW', 'MATERIAL_ORDER_LAST_REVIEW'] as const)
      expect([order, await readAll({ userId, order, pageSize: 1 })]).toEqual([order, ['a', 'b', 'c', 'd']]);
  });

  test('by next review go on after a material that is snoozed to the end of the year 9999', async ({
    userId,
  }) => {
    const snoozes = [
      ['a', '9999-12-31T23:59:59.999Z'],
      ['b', '9998-01-01T00:00:00.000Z'],
      ['c', '9999-12-31T23:59:59.999Z'],
    ] as const;
    for (const [title, until] of snoozes) {
      const snoozeUntilTime = { seconds: Math.floor(Date.parse(until) / 1000), nanos: 999_000_000 };
      const materialIds = [await here.create(userId, title)];
      await here.snoozes.snoozeMaterials({ userId, materialIds, snoozeUntilTime });
    }
    const order = 'MATERIAL_ORDER_NEXT_REVIEW';
    expect(await readAll({ userId, order, pageSize: 1 })).toEqual(['b', 'a', 'c']);
  });

  test('that are sorted hold each text whole, and none in the basic view', async ({ userId }) => {
    const content = 'x'.repeat(4097);
    await here.materials.createMaterial({ userId, title: 'long', content });
    const list = async (view: 'MATERIAL_VIEW_FULL' | 'MATERIAL_VIEW_BASIC') => {
      const request = { userId, order: 'MATERIAL_ORDER_EASE', view } as const;
      const { materials } = await here.materials.listMaterials(request);
      return materials.map((material) => material.content);
    };
    expect(await list('MATERIAL_VIEW_FULL')).toEqual([content]);
    expect(await list('MATERIAL_VIEW_BASIC')).toEqual([undefined]);
  });

  test('by ease refuse a token that holds no ease', async ({ userId }) => {
    await here.create(userId);
    await here.create(userId);
    const request = { userId, order: 'MATERIAL_ORDER_EASE', pageSize: 1 } as const;
    const { nextPageToken } = await here.materials.listMaterials(request);
    const [fingerprint, ease, id] = JSON.parse(Buffer.from(nextPageToken, 'base64url').toString());
    expect(ease).toBe(250);
    for (const forged of [null, 2 ** 31, -1]) {
      const pageToken = Buffer.from(JSON.stringify([fingerprint, forged, id])).toString('base64url');
      expect(await refusal(here.materials.listMaterials({ ...request, pageToken }))).toBe(
        'INVALID_REQUEST page_token',
      );
    }
  });

  test('that are sorted are read one at a time for a learner, since each reads all that there is', async ({
    userId,
  }) => {
    await here.create(userId);
    await here.sql.query('BEGIN');
    await here.sql.query('LOCK TABLE scheduling.materials IN ACCESS EXCLUSIVE MODE');
    const order = 'MATERIAL_ORDER_EASE' as const;
    const list = (request: object) =>
      here.materials.listMaterials({ userId, ...request }).catch(() => undefined);
    const lists = [1, 2, 3, 4].map(() => list({ order }));
    // Each has what the other lacks within the 1,024 bytes that PostgreSQL shows of a statement.
    const waiting = `
      SELECT count(*) FILTER (WHERE query LIKE '%m.sort_key%')::integer AS sorted,
             bool_or(query LIKE '%(ORDER BY m.create_time DESC%') AS newest
      FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const counted = async () => {
      // Once it waits for the lock, those before it have come as far as they do.
      lists.push(list({}));
      // A transaction otherwise keeps what it has seen.
      await here.sql.query('SELECT pg_stat_clear_snapshot()');
      return (await here.sql.query(waiting)).rows[0];
    };
    try {
      await expect.poll(counted).toEqual({ sorted: 1, newest: true });
    } finally {
      await here.sql.query('ROLLBACK');
      await Promise.all(lists);
    }
  });

  test('of a search go from title matches to the others without a gap', async ({ userId }) => {
    for (let index = 0; index < 7; index += 1) {
      const inTitle = index % 2 === 0;
      await here.materials.createMaterial({
        userId,
        title: inTitle ? `Ünicode ${index}` : `plain ${index}`,
        content: inTitle ? 'x' : 'about üNICODE',
      });
    }
    expect(await readAll({ userId, query: 'ünicode', pageSize: 2 })).toEqual([
      'Ünicode 6',
      'Ünicode 4',
      'Ünicode 2',
      'Ünicode 0',
      'plain 5',
      'plain 3',
      'plain 1',
    ]);
  });

  test('end early where their texts are long, are read on to the same end, and hold each text whole', async ({
    userId,
  }) => {
    const sizes = [
      10, 260_000, 5_000, 260_000, 260_000, 260_000, 260_000, 0, 260_000, 260_000, 260_000, 260_000,
    ];
    for (const [index, size] of sizes.entries())
      await here.materials.createMaterial({
        userId,
        title: `m${index}`,
        ...(size > 0 && { content: 'long '.repeat(size / 5) }),
      });
    const newest = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    const due = newest.toReversed();
    const matches = newest.filter((index) => index !== 7);
    const lists = [
      { read: here.materials.listMaterials, order: newest, lengths: [1, 5, 6] },
      { read: here.materials.listDueMaterials, order: due, lengths: [2, 6, 4] },
      { read: here.materials.listMaterials, query: 'long', order: matches, lengths: [4, 5, 2] },
    ];
    for (const { read, query = '', order, lengths } of lists) {
      const pages: { title: string; content?: string }[][] = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
        const page = await read({ userId, query, pageSize: 100, pageToken });
        pages.push(page.materials);
        pageToken = page.nextPageToken || undefined;
      }
      expect(pages.map((page) => page.length)).toEqual(lengths);
      expect(pages.flat().map(({ title }) => title)).toEqual(order.map((index) => `m${index}`));
      expect(pages.flat().map(({ content = '' }) => content.length)).toEqual(
        order.map((index) => sizes[index]),
      );
    }
  });

  test('of due materials begin with those that have no instant, and keep their "now"', async ({ userId }) => {
    for (let index = 0; index < 6; index += 1) await here.create(userId, `due ${index}`);
    await here.sql.query(
      "UPDATE scheduling.materials SET next_review_time = NULL WHERE user_id = $1 AND title IN ('due 4', 'due 5')",
      [userId],
    );
    const read: string[] = [];
    for (let pageToken = ''; ; ) {
      const page = await here.materials.listDueMaterials({ userId, pageSize: 1, pageToken });
      read.push(...titles(page));
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
      await here.create(userId, 'due later');
    }
    expect(read).toEqual(['due 4', 'due 5', 'due 0', 'due 1', 'due 2', 'due 3']);
  });
});

test('a state that is none is refused', async ({ userId }) => {
  const request = { userId, state: 9 as unknown as 'MATERIAL_STATE_ANY' };
  expect(await refusal(here.materials.listMaterials(request))).toBe('INVALID_REQUEST state');
});

describe('a batch', () => {
  test('of materials by id keeps the order and leaves out what is not the user’s', async ({ userId }) => {
    const [first, second] = [await here.create(userId), await here.create(userId)];
    const foreign = await here.create(newUserId());
    const materialIds = [second, foreign, 'x', first, second];
    const { materials } = await here.materials.batchGetMaterials({ userId, materialIds });
    expect(materials.map(({ materialId }) => materialId)).toEqual([second, first]);
    expect(await refusal(here.materials.batchGetMaterials({ userId, materialIds: [] }))).toBe(
      'INVALID_REQUEST material_ids',
    );
  });
});

describe('the basic view', () => {
  test('leaves out content and source URL, in every kind of list, and changes nothing else', async ({
    userId,
  }) => {
    const sourceUrl = 'https://example.com/';
    await here.materials.createMaterial({ userId, title: 'long', content: 'text', sourceUrl });
    await here.create(userId, 'short');
    const view = 'MATERIAL_VIEW_BASIC' as const;
    const withoutTexts = ({ content, sourceUrl: _, ...rest }: { content?: string; sourceUrl?: string }) =>
      rest;
    for (const request of [
      { userId },
      { userId, query: 'o' },
      { userId, state: 'MATERIAL_STATE_ANY' as const },
    ]) {
      const full = await here.materials.listMaterials({ ...request, view: 'MATERIAL_VIEW_FULL' });
      expect(full.materials.map(({ content, sourceUrl: url }) => [content, url])).toContainEqual([
        'text',
        sourceUrl,
      ]);
      const basic = await here.materials.listMaterials({ ...request, view });
      expect(basic.materials).toEqual(full.materials.map(withoutTexts));
    }
    const due = await here.materials.listDueMaterials({ userId, view });
    const materialIds = due.materials.map(({ materialId }) => materialId);
    const byId = async (asked: 'MATERIAL_VIEW_BASIC' | 'MATERIAL_VIEW_FULL') => {
      const found = await here.materials.batchGetMaterials({ userId, materialIds, view: asked });
      return found.materials.map(({ content }) => content);
    };
    expect(await byId('MATERIAL_VIEW_BASIC')).toEqual([undefined, undefined]);
    expect(await byId('MATERIAL_VIEW_FULL')).toEqual(['text', undefined]);
    expect(due.materials.map((material) => [material.title, 'content' in material])).toEqual([
      ['long', false],
      ['short', false],
    ]);
  });

  test('and the full one may take turns from page to page', async ({ userId }) => {
    for (const title of ['a', 'b', 'c'])
      await here.materials.createMaterial({ userId, title, content: title });
    const first = await here.materials.listMaterials({ userId, pageSize: 2, view: 'MATERIAL_VIEW_BASIC' });
    const rest = await here.materials.listMaterials({ userId, pageToken: first.nextPageToken });
    expect(rest.materials.map(({ content }) => content)).toEqual(['a']);
  });
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const titles = (list: { materials: { title: string }[] }) => list.materials.map(({ title }) => title);

/** Reads a list to its end, calling `between` after each page. */
async function readAll(request: ListMaterialsRequestInput, between = async () => {}): Promise<string[]> {
  const read: string[] = [];
  for (let pageToken = ''; ; ) {
    const page = await here.materials.listMaterials({ ...request, pageToken });
    read.push(...titles(page));
    if (page.nextPageToken === '') return read;
    pageToken = page.nextPageToken;
    await between();
  }
}
