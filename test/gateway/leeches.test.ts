// Leeches over GraphQL: the mark, the count, the filter and the review that made one follow reviews, undos and the setting.
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { VIEWER } from '../support/gateway.ts';

test('a leech is marked, counted, listed and told, until its last lapse is undone or the setting is raised', async ({
  gateway,
  user: { userId },
}) => {
  const change = async (name: string, input: object, fields: string) => {
    const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input!`;
    const text = `mutation ($input: ${type}) { done: ${name}(input: $input) { ${fields} } }`;
    return (await gateway.query(text, { input: { userId, ...input } })).data.done;
  };
  const { material } = await change('createMaterial', { title: 'Ohm' }, 'material { id }');
  await change('createMaterial', { title: 'Volt' }, 'material { id }');
  const review = (quality: number) =>
    change(
      'submitReview',
      { materialId: material.id, quality },
      'material { lapses isLeech } review { id madeLeech }',
    );
  const set = (leechLapses: number) =>
    change('updateLearnerSettings', { leechLapses }, 'settings { leechLapses }');
  const shown = async () => {
    const { data } = await gateway.query(READ, { userId }, VIEWER);
    const { materials, materialCounts, timeline } = data.user;
    const titles = materials.nodes.map(({ title }: { title: string }) => title);
    return [titles, materialCounts.leeches, timeline.nodes[0].review.madeLeech];
  };
  await set(1);
  await review(4);
  expect(await shown()).toEqual([[], 0, false]);
  const failed = await review(1);
  expect(failed).toMatchObject({ material: { lapses: 1, isLeech: true }, review: { madeLeech: true } });
  expect(await shown()).toEqual([['Ohm'], 1, true]);
  const undone = await change('undoReview', { reviewId: failed.review.id }, 'material { lapses isLeech }');
  expect(undone.material).toEqual({ lapses: 0, isLeech: false });
  expect(await shown()).toEqual([[], 0, false]);
  await review(2);
  expect(await shown()).toEqual([['Ohm'], 1, true]);
  await set(2);
  expect(await shown()).toEqual([[], 0, false]);
});

const READ = `query ($userId: ID!) { user(id: $userId) {
  materials(leeches: true) { nodes { title } } materialCounts { leeches }
  timeline(first: 1, kinds: [REVIEW]) { nodes { review { madeLeech } } } } }`;
