// Twenty people, each with a hundred materials as large as one can be.
import { createHash } from 'node:crypto';
import { type Cell, copyPeople, copyRows, TABLES } from './copy.ts';
import { createTimeMs } from './core.ts';
import type { Databases } from './databases.ts';
import { idOf, type Person, peopleOf, START_MS } from './people.ts';

export const PEOPLE = 20;
export const MATERIALS = 100;
const CONTENT_BYTES = 256 * 1024;

export async function openLarge(databases: Databases): Promise<{ name: string; people: readonly Person[] }> {
  const people = peopleOf('hoarder', PEOPLE);
  const name = await databases.cached('large', async (client) => {
    await copyPeople(client, people);
    await copyRows(client, TABLES.materials, rows(people));
  });
  return { name, people };
}

/** Of characters that do not compress to much less, so that PostgreSQL moves all of it. */
function* rows(people: readonly Person[]): Generator<Cell[]> {
  const pool = Array.from({ length: (2 * CONTENT_BYTES) / 64 }, (_, index) =>
    createHash('sha256').update(`${index}`).digest('hex'),
  ).join('');
  for (let index = 0; index < MATERIALS; index += 1) {
    for (const [place, { userId, email }] of people.entries()) {
      const made = new Date(createTimeMs(index));
      const from = (index * PEOPLE + place) * 131;
      yield [
        userId,
        idOf(`${email} ${index}`, createTimeMs(index)),
        `Large ${index}`,
        pool.slice(from, from + CONTENT_BYTES),
        null,
        'simple',
        250,
        0,
        0,
        new Date(START_MS),
        null,
        0,
        made,
        made,
      ];
    }
  }
}
