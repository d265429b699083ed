// What a label is, and how materials count for it and for those above it.
import { expect, test } from 'vitest';
import { toLabel } from '../../../services/platform/labels.ts';
import { countByLabel } from '../../../services/scheduling/materials/labels.ts';

test.each([
  ['Spanish', 'Spanish'],
  ['Spanish/Verbs', 'Spanish/Verbs'],
  [' kept as sent ', ' kept as sent '],
  ['Cafe\u0301', 'Caf\u00e9'],
  ['\u{1F1EA}'.repeat(60), '\u{1F1EA}'.repeat(60)],
])('%j is the label %j', (text, label) => {
  expect(toLabel(text)).toBe(label);
});

test.each([
  '',
  '   ',
  'a\nb',
  'a\u0000',
  'Spanish/',
  '/Spanish',
  'Spanish//Verbs',
  'Spanish/ /Verbs',
  '\ud800',
  'x'.repeat(61),
])('%j is no label', (text) => {
  expect(toLabel(text)).toBeUndefined();
});

test('a material counts once for each of its labels and for each above them', () => {
  const counts = countByLabel([
    { labels: ['Spanish/Verbs', 'Spanish/Nouns'], active: 2, due: 1 },
    { labels: ['Spanish'], active: 3, due: 0 },
    { labels: ['\u{1F1EA}', '\uff21'], active: 1, due: 1 },
  ]);
  expect(counts).toEqual([
    { label: 'Spanish', active: 5, due: 1 },
    { label: 'Spanish/Nouns', active: 2, due: 1 },
    { label: 'Spanish/Verbs', active: 2, due: 1 },
    { label: '\uff21', active: 1, due: 1 },
    { label: '\u{1F1EA}', active: 1, due: 1 },
  ]);
});
