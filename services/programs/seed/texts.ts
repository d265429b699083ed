// Names of generated learners, and what their materials say.

const FIRST_NAMES = [
  'Ada',
  'Amir',
  'Beatriz',
  'Chidi',
  'Elif',
  'Grace',
  'Hana',
  'Jonas',
  'Lena',
  'Mateo',
  'Noor',
  'Priya',
  'Sofia',
  'Tomás',
  'Wei',
  'Yuki',
];
const LAST_NAMES = [
  'Adeyemi',
  'Berg',
  'Costa',
  'Demir',
  'Fischer',
  'García',
  'Haddad',
  'Ito',
  'Kowalska',
  'Lindqvist',
  'Moreau',
  'Nguyen',
  'Okafor',
  'Patel',
  'Rossi',
  'Silva',
];
const SUBJECTS = [
  'capital of',
  'date of',
  'author of',
  'formula for',
  'meaning of',
  'inventor of',
  'symbol for',
];
const OBJECTS = [
  'Peru',
  'the printing press',
  'osmosis',
  'Ohm’s law',
  'entropy',
  'Beowulf',
  'zinc',
  'the fugue',
  'Mali',
  'pi',
];
/** Share of materials. */
const WITH_CONTENT = 0.6;

const pick = (words: readonly string[]) => words[Math.floor(Math.random() * words.length)] ?? '';

export const newName = () => ({ firstName: pick(FIRST_NAMES), lastName: pick(LAST_NAMES) });

/** A title, and for most a content; a source for half of those. */
export function newTexts(): { title: string; content: string | null; sourceUrl: string | null } {
  const [subject, object] = [pick(SUBJECTS), pick(OBJECTS)];
  const title = `The ${subject} ${object} (${Math.floor(Math.random() * 1000)})`;
  if (Math.random() >= WITH_CONTENT) return { title, content: null, sourceUrl: null };
  const sourceUrl =
    Math.random() < 0.5 ? `https://en.wikipedia.org/wiki/${encodeURIComponent(object)}` : null;
  return { title, content: `What is the ${subject} ${object}?\n\nSay it aloud before you look.`, sourceUrl };
}
