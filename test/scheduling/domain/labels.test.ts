// What a label is.
import { expect, test } from 'vitest';
import { toLabel } from '../../../services/platform/labels.ts';

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
