// One person with a million materials beside one with two hundred, in one database.
import { type Cell, copyPeople, copyRows, TABLES } from './copy.ts';
import { createTimeMs } from './core.ts';
import type { Databases } from './databases.ts';
import { idOf, type Person, personOf, START_MS } from './people.ts';
import { createRandom, prose } from './words.ts';

export const FEW = 200;
const CONTENT_CHARACTERS = 272;
const HALF_YEAR_MS = 180 * 86_400_000;

export async function openDepth(
  databases: Databases,
  many: number,
): Promise<{ name: string; rich: Person; poor: Person }> {
  const [rich, poor] = [personOf('rich'), personOf('poor')];
  const name = await databases.cached(`depth_${many}`, async (client) => {
    await copyPeople(client, [rich, poor]);
    await copyRows(client, TABLES.materials, rows(rich, poor, many));
  });
  return { name, rich, poor };
}

/** The poor one's materials lie among the rich one's, as they would had both been there all the time. */
function* rows(rich: Person, poor: Person, many: number): Generator<Cell[]> {
  const every = Math.floor(many / FEW);
  for (let index = 0; index < many; index += 1) {
    yield row(rich, index);
    if (index % every === 0) yield row(poor, index);
  }
}

function row({ userId, email }: Person, index: number): Cell[] {
  const random = createRandom(index);
  const made = new Date(createTimeMs(index));
  const due = new Date(START_MS + Math.floor(random() * HALF_YEAR_MS));
  return [
    userId,
    idOf(`${email} ${index}`, createTimeMs(index)),
    prose(random, 32),
    prose(random, CONTENT_CHARACTERS),
    null,
    'simple',
    250,
    0,
    0,
    due,
    null,
    0,
    made,
    made,
  ];
}
