// Lists with long texts, which are read page by page: what changes between two pages, and who stops reading.
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect } from 'vitest';
import { sendMaterials } from '../../services/rest/routes.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';

test.beforeAll(takeServices);

afterEach(() => app?.close());

test('a list is complete, and no material of it is read twice', async () => {
  const { userId } = await createLong();
  const { url, pages } = await serve('listMaterials', { userId });
  expect(await titlesOf(url)).toEqual([...TITLES].reverse());
  expect(pages.map(({ pageSize }) => pageSize)).toEqual([100, 99, 95]);
});

test('a list ends at its limit, however many pages that takes', async () => {
  const { userId } = await createLong();
  const { url } = await serve('listMaterials', { userId, limit: 5 });
  expect(await titlesOf(url)).toEqual(['F', 'E', 'D', 'C', 'B']);
});

test('a due list leaves out what is reviewed, snoozed or archived before its page is read', async () => {
  const { userId, materialIds } = await createLong();
  const [d = '', e = '', f = ''] = materialIds.slice(3);
  const change = async () => {
    await here.reviews.submitReview({ userId, materialId: e, quality: 5 });
    const snoozeUntilTime = { seconds: Math.floor(Date.now() / 1000) + 86_400, nanos: 0 };
    await here.snoozes.snoozeMaterials({ userId, materialIds: [f], snoozeUntilTime });
    await here.materials.archiveMaterial({ userId, materialId: d });
  };
  const { url } = await serve('listDueMaterials', { userId }, change);
  expect(await titlesOf(url)).toEqual(['A', 'B', 'C']);
});

test('a list of whose next page nothing is left is that of the page before', async () => {
  const { userId, materialIds } = await createLong();
  const archiveAll = async () => {
    for (const materialId of materialIds) await here.materials.archiveMaterial({ userId, materialId });
  };
  const { url } = await serve('listDueMaterials', { userId }, archiveAll);
  expect(await titlesOf(url)).toEqual(['A']);
});

test('HEAD reads the first page of a list alone', async () => {
  const { userId } = await createLong();
  const { url, pages } = await serve('listMaterials', { userId });
  const response = await fetch(url, { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
  await titlesOf(url);
  expect(pages.map(({ pageSize }) => pageSize)).toEqual([100, 100, 99, 95]);
});

test('where a later page fails, the client sees a broken response, not a short list', async () => {
  const { userId } = await createLong();
  const { url } = await serve('listMaterials', { userId }, async () => {
    throw new Error('gone');
  });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow('terminated');
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

let app: FastifyInstance;

const TITLES = ['A', 'B', 'C', 'D', 'E', 'F'];

/** A user with six materials of 260,000 bytes, A to F. */
async function createLong() {
  const userId = newUserId();
  const materialIds: string[] = [];
  for (const title of TITLES) {
    const request = { userId, title, content: 'x'.repeat(260_000) };
    const { material } = await here.materials.createMaterial(request);
    materialIds.push(material?.materialId ?? '');
  }
  return { userId, materialIds };
}

/** Serves a list at /, where `before` runs before each page after the first. */
async function serve(
  list: 'listMaterials' | 'listDueMaterials',
  { userId, limit = 100 }: { userId: string; limit?: number },
  before: () => Promise<unknown> = async () => undefined,
): Promise<{ url: string; pages: Page[] }> {
  const pages: Page[] = [];
  app = Fastify();
  app.get('/', (_request, reply) =>
    sendMaterials(reply, limit, async (page) => {
      if (pages.length > 0) await before();
      pages.push(page);
      return here.materials[list]({ userId, ...page });
    }),
  );
  return { url: await app.listen(), pages };
}

async function titlesOf(url: string): Promise<string[]> {
  const body = (await (await fetch(url)).json()) as { materials: { title: string }[] };
  return body.materials.map(({ title }) => title);
}

type Page = { pageSize: number; pageToken: string };
