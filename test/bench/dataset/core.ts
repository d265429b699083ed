// The data of the HTTP rows: readers, whose lists are asked for, and reviewers, whose materials are graded.
import type { Client } from 'pg';
import { type Cell, copyPeople, copyRows, TABLES } from './copy.ts';
import type { Databases } from './databases.ts';
import { idOf, type Person, peopleOf, personOf, START_MS } from './people.ts';
import { createRandom, prose } from './words.ts';

type CoreSize = {
  readers: number;
  materialsOfReader: number;
  reviewers: number;
  materialsOfReviewer: number;
};
export type Core = {
  name: string;
  readers: readonly Person[];
  /** All of the reviewers, in an order in which neighbours belong to different people. */
  gradable: readonly { person: Person; materialId: string }[];
};

export const FULL: CoreSize = {
  readers: 100,
  materialsOfReader: 200,
  reviewers: 100,
  materialsOfReviewer: 150,
};
export const SMALL: CoreSize = {
  readers: 40,
  materialsOfReader: 60,
  reviewers: 40,
  materialsOfReviewer: 150,
};

/** Twenty of these make a list of 12 KB. */
const CONTENT_CHARACTERS = 272;
const REVIEWS_OF_MATERIAL = 4;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export async function openCore(databases: Databases, size: CoreSize): Promise<Core> {
  const readers = peopleOf('reader', size.readers);
  const reviewers = peopleOf('reviewer', size.reviewers);
  const label = `core_${Object.values(size).join('_')}`;
  const name = await databases.cached(label, async (client) => {
    await copyPeople(client, [...readers, ...reviewers]);
    await copyPeople(client, [personOf('limited')], ['profile:read']);
    await copyMaterials(client, {
      people: readers,
      count: size.materialsOfReader,
      reviews: REVIEWS_OF_MATERIAL,
    });
    await copyMaterials(client, { people: reviewers, count: size.materialsOfReviewer, reviews: 0 });
  });
  const gradable = Array.from({ length: size.materialsOfReviewer }, (_, index) =>
    reviewers.map((person) => ({ person, materialId: materialIdOf(person, index) })),
  ).flat();
  return { name, readers, gradable };
}

export const createTimeMs = (index: number) => START_MS + index * MINUTE_MS;
const materialIdOf = ({ email }: Person, index: number) => idOf(`${email} ${index}`, createTimeMs(index));

type Many = { people: readonly Person[]; count: number; reviews: number };

async function copyMaterials(client: Client, many: Many): Promise<void> {
  await copyRows(client, TABLES.materials, materialRows(many));
  await copyRows(client, TABLES.search, searchRows(many));
  await copyRows(client, TABLES.reviews, reviewRows(many));
}

/** Index by index, so that the rows of one person lie scattered, as they do where people add a few a day. */
function* each({ people, count }: Many): Generator<{ person: Person; index: number; random: () => number }> {
  for (let index = 0; index < count; index += 1)
    for (const [place, person] of people.entries())
      yield { person, index, random: createRandom(place * 1_000_003 + index) };
}

function textOf(random: () => number) {
  return { title: prose(random, 32), content: prose(random, CONTENT_CHARACTERS) };
}

/** Due in another order than they were made. */
function* materialRows(many: Many): Generator<Cell[]> {
  for (const { person, index, random } of each(many)) {
    const { title, content } = textOf(random);
    const made = new Date(createTimeMs(index));
    const reviewed = many.reviews > 0 ? new Date(createTimeMs(index) + many.reviews * DAY_MS) : null;
    const due = new Date(START_MS + Math.floor(random() * 180 * DAY_MS));
    yield [
      person.userId,
      materialIdOf(person, index),
      title,
      content,
      null,
      'flashcard',
      236,
      many.reviews > 0 ? 15 : 0,
      many.reviews,
      due,
      reviewed,
      many.reviews,
      made,
      reviewed ?? made,
    ];
  }
}

function* searchRows(many: Many): Generator<Cell[]> {
  for (const { person, index, random } of each(many)) {
    const { title, content } = textOf(random);
    const made = new Date(createTimeMs(index));
    yield [person.userId, materialIdOf(person, index), made, title.toLowerCase(), content.toLowerCase(), ''];
  }
}

function* reviewRows(many: Many): Generator<Cell[]> {
  for (const { person, index } of each(many)) {
    for (let revision = 1; revision <= many.reviews; revision += 1) {
      const timeMs = createTimeMs(index) + revision * DAY_MS;
      const materialId = materialIdOf(person, index);
      yield [
        person.userId,
        materialId,
        revision,
        idOf(`${materialId} ${revision}`, timeMs),
        4,
        new Date(timeMs),
        250,
        1,
        revision - 1,
        new Date(timeMs),
        250,
        6,
        revision,
        new Date(timeMs + DAY_MS),
      ];
    }
  }
}
