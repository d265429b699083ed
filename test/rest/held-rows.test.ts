// A row that somebody holds for longer than a request may wait: 503 and when to come again, and the write is done once.
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { createApi, errorOf, materialsOf } from '../support/api.ts';
import { lockMaterial } from '../support/row-locks.ts';

test('a write of a material that is held is 503, and the same request is done once it is free', async ({
  system,
  key,
}) => {
  const api = createApi(`${system.origins[0]}/v1`, key, { mayBeUnavailable: true });
  const made = await Promise.all([
    api.create({ title: 'A' }),
    api.create({ title: 'B' }),
    api.create({ title: 'C' }),
  ]);
  const [a, b, c] = made.map(({ id }) => id);
  const once = { headers: { 'idempotency-key': 'k' } };
  const writes = [
    () => api.post(`/reviews/${a}`, { quality: 4 }),
    () => api.post(`/reviews/${b}`, { quality: 4 }, once),
    () => api.post(`/materials/${c}/snooze`, { preset: 'tomorrow' }, once),
  ];
  const locks = await Promise.all([a, b, c].map((id = '') => lockMaterial(system.databaseUrl, id)));
  try {
    const held = await Promise.all(writes.map((write) => write()));
    expect(held.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(held.map((answer) => errorOf(answer).code)).toEqual(['unavailable', 'unavailable', 'unavailable']);
  } finally {
    await Promise.all(locks.map((lock) => lock.close()));
  }
  const free = await Promise.all(writes.map((write) => write()));
  expect(free.map(({ status }) => status)).toEqual([200, 200, 201]);
  const again = await Promise.all(writes.slice(1).map((write) => write()));
  expect(again.map((answer) => answer.body)).toEqual(free.slice(1).map((answer) => answer.body));
  const materials = materialsOf(await api.get('/materials'));
  const repetitions = new Map(materials.map((material) => [material.id, material.repetitions]));
  expect([a, b, c].map((id = '') => repetitions.get(id))).toEqual([1, 1, 0]);
});
