// A package of Anki, as one who learned for years has it: two cards a note, ten reviews a card.
import { writePackage } from '../../support/anki-files.ts';
import { createRandom, prose } from './words.ts';

const REVIEWS_OF_CARD = 10;
const NOTE_TYPE = {
  id: 1000,
  name: 'Basic (and reversed)',
  fields: ['Front', 'Back'],
  templates: [
    ['{{Front}}', '{{FrontSide}}\n\n<hr id=answer>\n\n{{Back}}'],
    ['{{Back}}', '{{FrontSide}}\n\n<hr id=answer>\n\n{{Front}}'],
  ] as [string, string][],
};
const DECKS = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [
    index + 1,
    `Course ${index % 8}::Lesson ${Math.floor(index / 8)}`,
  ]),
);
const FIRST_MS = Date.UTC(2020, 0, 2);
const DAY_MS = 86_400_000;
const LAST_DAY = 2000;

/** Writes a package of version 3 into `folder`. @returns its path. */
export function writeLearnersPackage(folder: string, cards: number): Promise<string> {
  return writePackage(folder, 3, {
    noteTypes: [NOTE_TYPE],
    decks: DECKS,
    notes: [...notes(cards / 2)],
    cards: [...cardRows(cards)],
    log: [...logRows(cards)],
  });
}

const cardId = (index: number) => FIRST_MS + index * 1000;
const noteId = (index: number) => FIRST_MS + Math.floor(index / 2) * 2000;

function* notes(count: number) {
  for (let index = 0; index < count; index += 1) {
    const random = createRandom(index);
    const front = `<b>${prose(random, 20)}</b> ${prose(random, 20)}`;
    const back = `<div>${prose(random, 80)}</div><div><i>${prose(random, 40)}</i>&nbsp;[sound:${index}.mp3]</div>`;
    yield {
      id: noteId(2 * index),
      guid: `g${index.toString(36)}~${Math.floor(random() * 1e9)}`,
      mid: NOTE_TYPE.id,
      tags: ` marked tag${index % 50} `,
      fields: [front, back],
    };
  }
}

function* cardRows(count: number) {
  for (let index = 0; index < count; index += 1)
    yield {
      id: cardId(index),
      nid: noteId(index),
      did: 1 + (index % 40),
      ord: index % 2,
      type: 2,
      due: LAST_DAY + (index % 700),
      ivl: 20 + (index % 500),
      factor: 1300 + (index % 1700),
    };
}

function* logRows(count: number) {
  for (let review = 0; review < REVIEWS_OF_CARD; review += 1)
    for (let index = 0; index < count; index += 1)
      yield {
        // A different millisecond each.
        id: FIRST_MS + (10 + 2 ** review) * DAY_MS + (review * count + index) * 7,
        cid: cardId(index),
        ease: 1 + ((index + review * 7) % 4),
        ivl: 2 ** review,
        lastIvl: Math.floor(2 ** (review - 1)),
        factor: 2500 - (index % 700),
        type: review === 0 ? 0 : 1,
      };
}
