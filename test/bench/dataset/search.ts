// 200,000 materials of one searcher, and as many of other people who use words that the searcher does not.
import { type Cell, copyPeople, copyRows, TABLES } from './copy.ts';
import { createTimeMs } from './core.ts';
import type { Databases } from './databases.ts';
import { idOf, type Person, peopleOf, personOf, START_MS } from './people.ts';
import { createRandom, prose } from './words.ts';

/** What the searcher looks for, by how often it occurs. `letters` occur as often as their names say. */
export const PATTERNS = {
  frequent: ['the', 'practice'],
  rare: ['xylophone'],
  absent: ['quokka'],
  'frequent elsewhere only': ['zeppelin'],
  'one and two letters': ['e', 'th', 'ß', 'zq', 'ø', 'jj'],
} as const;

const OTHERS = 20;
/** In each of the last `RARE_EVERY` materials one holds the rare word and the rare letters. */
const RARE_EVERY = 60_000;
const CONTENT_CHARACTERS = 120;

/** `count` materials of the searcher, as many of the others together. */
export async function openSearch(
  databases: Databases,
  count: number,
): Promise<{ name: string; searcher: Person }> {
  const searcher = personOf('searcher');
  const others = peopleOf('other', OTHERS);
  const name = await databases.cached(`search_${count}`, async (client) => {
    await copyPeople(client, [searcher, ...others]);
    await copyRows(client, TABLES.materials, rows(searcher, others, count, materialRow));
    await copyRows(client, TABLES.search, rows(searcher, others, count, searchRow));
  });
  return { name, searcher };
}

type Text = { person: Person; index: number; title: string; content: string };

function* rows(
  searcher: Person,
  others: readonly Person[],
  count: number,
  toRow: (text: Text) => Cell[],
): Generator<Cell[]> {
  for (let index = 0; index < count; index += 1) {
    const random = createRandom(index);
    const title = prose(random, 32);
    const content = prose(random, CONTENT_CHARACTERS);
    const rare = index % RARE_EVERY === 100 ? ' xylophone ß zq' : '';
    yield toRow({ person: searcher, index, title, content: content + rare });
    const other = others[index % others.length] ?? searcher;
    yield toRow({ person: other, index, title: `${title} zeppelin`, content: `${content} ø jj` });
  }
}

const idFor = ({ person, index }: Text) => idOf(`${person.email} ${index}`, createTimeMs(index));

function materialRow(text: Text): Cell[] {
  const made = new Date(createTimeMs(text.index));
  return [
    text.person.userId,
    idFor(text),
    text.title,
    text.content,
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

function searchRow(text: Text): Cell[] {
  const made = new Date(createTimeMs(text.index));
  return [text.person.userId, idFor(text), made, text.title.toLowerCase(), text.content.toLowerCase(), ''];
}
