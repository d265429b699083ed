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
] as const;
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
] as const;
type Subject = readonly [text: string, label: string];
const SUBJECTS: readonly [Subject, ...Subject[]] = [
  ['capital of', 'Geography/Capitals'],
  ['date of', 'History/Dates'],
  ['author of', 'Literature'],
  ['formula for', 'Science/Formulas'],
  ['meaning of', 'Vocabulary'],
  ['inventor of', 'History/Inventors'],
  ['symbol for', 'Science/Symbols'],
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
] as const;
/** Share of materials. */
const WITH_CONTENT = 0.6;

const pick = <T>(choices: readonly [T, ...T[]]): T =>
  choices[Math.floor(Math.random() * choices.length)] ?? choices[0];

export const newName = () => ({ firstName: pick(FIRST_NAMES), lastName: pick(LAST_NAMES) });

/** A title and a label, and for most a content; a source for half of those. */
export function newTexts(): {
  title: string;
  content: string | null;
  sourceUrl: string | null;
  label: string;
} {
  const [[subject, label], object] = [pick(SUBJECTS), pick(OBJECTS)];
  const title = `The ${subject} ${object} (${Math.floor(Math.random() * 1000)})`;
  if (Math.random() >= WITH_CONTENT) return { title, content: null, sourceUrl: null, label };
  const sourceUrl =
    Math.random() < 0.5 ? `https://en.wikipedia.org/wiki/${encodeURIComponent(object)}` : null;
  const content = `What is the ${subject} ${object}?\n\nSay it aloud before you look.`;
  return { title, content, sourceUrl, label };
}
