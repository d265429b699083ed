// Labels in GraphQL: given, shown, filtered by, counted.
import { expect } from 'vitest';
import { test } from '../fixtures.ts';

test('labels are given, shown, filtered by, counted, changed and removed', async ({
  gateway,
  user: { userId },
}) => {
  const create = (title: string, labels: string[]) =>
    gateway.query(CREATE, { input: { userId, title, labels } });
  const { data } = await create('tener', ['Spanish/Verbs', 'irregular']);
  await create('casa', ['Spanish']);
  await create('none', []);
  const lists = async (labels: string[] | null) =>
    (await gateway.query(LISTS, { id: userId, labels })).data.user;
  expect(await lists(['Spanish/Verbs'])).toEqual({
    labels: [
      { label: 'Spanish', active: 2, due: 2 },
      { label: 'Spanish/Verbs', active: 1, due: 1 },
      { label: 'irregular', active: 1, due: 1 },
    ],
    materials: { nodes: [{ title: 'tener', labels: ['Spanish/Verbs', 'irregular'] }] },
    dueMaterials: { nodes: [{ title: 'tener' }] },
  });
  expect((await lists(null)).materials.nodes).toHaveLength(3);
  const update = async (change: object) =>
    (
      await gateway.query(UPDATE, {
        input: { userId, materialId: data.createMaterial.material.id, ...change },
      })
    ).data.updateMaterial.material;
  expect(await update({ title: 'T' })).toEqual({ title: 'T', labels: ['Spanish/Verbs', 'irregular'] });
  expect(await update({ labels: ['French'] })).toEqual({ title: 'T', labels: ['French'] });
  expect(await update({ labels: null })).toEqual({ title: 'T', labels: [] });
});

test('a bad label is refused by its name', async ({ gateway, user: { userId } }) => {
  const { errors } = await gateway.query(CREATE, { input: { userId, title: 'T', labels: ['Spanish/'] } });
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', field: 'labels' });
});

const CREATE =
  'mutation ($input: CreateMaterialInput!) { createMaterial(input: $input) { material { id labels } } }';
const UPDATE =
  'mutation ($input: UpdateMaterialInput!) { updateMaterial(input: $input) { material { title labels } } }';

const LISTS = `query ($id: ID, $labels: [String!]) { user(id: $id) {
  labels { label active due }
  materials(labels: $labels) { nodes { title labels } }
  dueMaterials(labels: $labels) { nodes { title } }
} }`;
