// Every legal text is stored at a bounded cost and found again as a whole, also one that an older version stored.
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { backendCpuMs } from '../support/backend-cpu.ts';
import { randomAscii, randomChinese } from '../support/random-text.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';

const MAX_BYTES = 262_144;

test.beforeAll(takeServices);

describe('a text of 262,144 bytes', () => {
  test('costs PostgreSQL about the same to store, whatever it says', async () => {
    const prose = 'the spacing effect is the finding that learning is better when it is spread out over time '
      .repeat(3000)
      .slice(0, MAX_BYTES);
    const store = (content: string) => async () => {
      await here.sql.query(
        `SELECT scheduling.insert_material($1, gen_random_uuid(), 'T', $2, NULL, 'simple', 250, 0, 0, now(), now())`,
        [newUserId(), content],
      );
    };
    await backendCpuMs(here.sql, store(prose));
    const ordinary = await backendCpuMs(here.sql, store(prose));
    for (const text of Object.values(texts)) {
      expect((await backendCpuMs(here.sql, store(text))) / ordinary).toBeLessThan(5);
    }
  });

  const texts = {
    'of random ASCII': randomAscii(MAX_BYTES, 1),
    'of random Chinese': randomChinese(MAX_BYTES, 2),
    'of one letter': 'a'.repeat(MAX_BYTES),
  };

  test.for(Object.entries(texts))('%s is stored, changed and found', async ([, text], { userId }) => {
    const sourceUrl = `https://x/${randomAscii(MAX_BYTES - 10, 3).replace(/[^a-z0-9]/g, '-')}`;
    const created = await here.materials.createMaterial({ userId, title: 'T', content: text, sourceUrl });
    const materialId = created.material?.materialId ?? '';
    await addNewer(userId);
    const middle = text.length / 2;
    for (const query of [text.slice(0, 20), text.slice(middle, middle + 200), text.slice(-2), text.slice(-1)])
      expect(await find(userId, query.toUpperCase())).toEqual([materialId]);
    expect(await find(userId, sourceUrl.slice(-300))).toEqual([materialId]);
    expect(await find(userId, `${text.slice(-10)}${sourceUrl.slice(0, 10)}`)).toEqual([]);
    const content = `${text.slice(10)}\u00e9quinoxe!`.slice(-200_000);
    await here.materials.updateMaterial({ userId, materialId, content });
    expect(await find(userId, '\u00c9QUINOXE')).toEqual([materialId]);
  });
});

let here: Pick<TestScheduling, 'materials' | 'sql'>;

/** Patient, since a busy machine takes longer than a statement may for texts as long as these. */
async function takeServices({ scheduling }: Given<'scheduling'>) {
  const { materials, stop } = await scheduling.startAnother({ isPatient: true });
  here = { materials, sql: scheduling.sql };
  return stop;
}

const find = async (userId: string, query: string) =>
  (await here.materials.listMaterials({ userId, query, pageSize: 100 })).materials.map(
    ({ materialId }) => materialId,
  );

/** Makes the search look beyond the newest, in the index. */
async function addNewer(userId: string): Promise<void> {
  await here.sql.query(
    `SELECT scheduling.insert_material($1, gen_random_uuid(), 'Newer', NULL, NULL, 'simple', 250, 0, 0, now(),
       now() + interval '1 hour') FROM generate_series(1, 600)`,
    [userId],
  );
}
