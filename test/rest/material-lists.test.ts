// Lists with over 1 MiB of texts, which are read in parts: what changes between the list and a part.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMaterialLists } from '../../services/rest/material-lists.ts';
import { CALL, newUserId, refusal, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
});
afterAll(() => here.stop());

/** A user with six materials of 260,000 bytes, A to F. */
async function createLong() {
  const userId = newUserId();
  const materialIds: string[] = [];
  for (const title of ['A', 'B', 'C', 'D', 'E', 'F']) {
    const request = { userId, title, content: 'x'.repeat(260_000) };
    const { material } = await here.materials.createMaterial(request, CALL);
    materialIds.push(material?.materialId ?? '');
  }
  return { userId, materialIds };
}

/** The titles of a list of six long materials, where `change` happens once the list is known. */
async function listWhile(
  list: 'listMaterials' | 'listDueMaterials',
  change: (userId: string, materialIds: string[]) => Promise<unknown>,
): Promise<string[]> {
  const { userId, materialIds } = await createLong();
  let changed: Promise<unknown> | undefined;
  const materials = {
    ...here.materials,
    async batchGetMaterials(...asked: Parameters<typeof here.materials.batchGetMaterials>) {
      changed ??= change(userId, materialIds);
      await changed;
      return here.materials.batchGetMaterials(...asked);
    },
  };
  const lists = createMaterialLists({ materials });
  const json = await lists[list]({ userId, pageSize: 100 }, CALL, () => new AbortController().signal);
  const body: { materials: { title: string }[] } = JSON.parse(json.toString());
  return body.materials.map(({ title }) => title);
}

/** Reviews A, snoozes B until tomorrow, archives C and gives D another title. */
async function changeFour(userId: string, [a = '', b = '', c = '', d = '']: string[]): Promise<void> {
  await here.reviews.submitReview({ userId, materialId: a, quality: 5 }, CALL);
  const snoozeUntilTime = { seconds: Math.floor(Date.now() / 1000) + 86_400, nanos: 0 };
  await here.snoozes.snoozeMaterials({ userId, materialIds: [b], snoozeUntilTime }, CALL);
  await here.materials.archiveMaterial({ userId, materialId: c }, CALL);
  await here.materials.updateMaterial({ userId, materialId: d, title: 'Another' }, CALL);
}

test('a due list leaves out what is reviewed, snoozed or archived while it is read', async () => {
  expect(await listWhile('listDueMaterials', changeFour)).toEqual(['Another', 'E', 'F']);
});

test('a list of all leaves out what is archived while it is read', async () => {
  expect(await listWhile('listMaterials', changeFour)).toEqual(['F', 'E', 'Another', 'B', 'A']);
});

test('no more texts are read for a client who has hung up', async () => {
  const { userId } = await createLong();
  const client = new AbortController();
  let parts = 0;
  const materials = {
    ...here.materials,
    batchGetMaterials(...asked: Parameters<typeof here.materials.batchGetMaterials>) {
      parts += 1;
      client.abort();
      return here.materials.batchGetMaterials(...asked);
    },
  };
  const lists = createMaterialLists({ materials });
  const list = lists.listMaterials({ userId, pageSize: 100 }, CALL, () => client.signal);
  expect(await refusal(list)).toBe('UNAVAILABLE');
  expect(parts).toBe(1);
});

/** Lists of which those of `userId` wait for their texts until `end`. */
function holdListsOf(userId: string) {
  const isHeld = Promise.withResolvers<void>();
  const end = Promise.withResolvers<never>();
  const materials = {
    ...here.materials,
    batchGetMaterials(...asked: Parameters<typeof here.materials.batchGetMaterials>) {
      if (asked[0].userId !== userId) return here.materials.batchGetMaterials(...asked);
      isHeld.resolve();
      return end.promise;
    },
  };
  const lists = createMaterialLists({ materials });
  const list = (of: string) =>
    lists.listMaterials({ userId: of, pageSize: 100 }, CALL, () => new AbortController().signal);
  return { list, isHeld: isHeld.promise, end: end.reject };
}

test('a list is refused if its turn does not come in the time of a call, however long another one takes', async () => {
  const { userId } = await createLong();
  const { list, isHeld, end } = holdListsOf(userId);
  const first = list(userId);
  await isHeld;
  expect(await refusal(list(userId))).toBe('UNAVAILABLE');
  end(new Error('held long enough'));
  await expect(first).rejects.toThrow('held long enough');
});

test('a list does not wait for that of another user', async () => {
  const [mine, theirs] = await Promise.all([createLong(), createLong()]);
  const { list, isHeld, end } = holdListsOf(mine.userId);
  const held = list(mine.userId);
  await isHeld;
  const { materials } = JSON.parse((await list(theirs.userId)).toString());
  expect(materials).toHaveLength(6);
  end(new Error('held long enough'));
  await expect(held).rejects.toThrow('held long enough');
});

/** Batches of lists, by their users, which are answered once told to. */
function holdBatches() {
  const gate = Promise.withResolvers<void>();
  const batches: (string | undefined)[][] = [];
  const held =
    <A extends [{ requests?: { userId?: string }[] }, ...unknown[]], R>(read: (...asked: A) => Promise<R>) =>
    async (...asked: A) => {
      batches.push((asked[0].requests ?? []).map(({ userId }) => userId));
      await gate.promise;
      return read(...asked);
    };
  const { batchListMaterials, batchListDueMaterials } = here.materials;
  const materials = {
    ...here.materials,
    batchListMaterials: held(batchListMaterials),
    batchListDueMaterials: held(batchListDueMaterials),
  };
  return { batches, lists: createMaterialLists({ materials }), release: gate.resolve };
}

test.each(['listMaterials', 'listDueMaterials'] as const)(
  '%s asks for two lists of a user at once, and for those of others beside them',
  async (list) => {
    const { batches, lists, release } = holdBatches();
    const [greedy, modest] = [newUserId(), newUserId()];
    const asked = [greedy, greedy, greedy, greedy, modest].map((userId) =>
      lists[list]({ userId, pageSize: 1 }, CALL, () => new AbortController().signal),
    );
    await expect.poll(() => batches.length).toBe(1);
    expect(batches).toEqual([[greedy, modest, greedy]]);
    release();
    await Promise.all(asked);
    expect(batches.flat()).toHaveLength(5);
  },
);
