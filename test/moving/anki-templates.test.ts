// Templates of cards and cloze deletions.
import { expect, test } from 'vitest';
import { clozeNumbers, showCloze, showClozeOnly } from '../../services/moving/anki/cloze.ts';
import { parseTemplate, type Rendering, renderTemplate } from '../../services/moving/anki/template.ts';

test.each<[string, string, Partial<Rendering>?]>([
  ['{{A}}-{{ A }}-{{{A}}}-{{missing}}', 'a-a-a-'],
  ['{{FrontSide}}<hr>{{A}}', 'FRONT<hr>a'],
  ['{{#A}}yes {{A}}{{/A}}{{^A}}no{{/A}}', 'yes a'],
  ['{{#B}}yes{{/B}}{{^B}}no{{/B}}{{#missing}}x{{/missing}}{{^missing}}y{{/missing}}', 'noy'],
  ['{{#A}}{{^B}}both{{/B}}{{/A}}', 'both'],
  ['{{#c1}}one{{/c1}}{{#c2}}two{{/c2}}', 'one'],
  ['{{#A}}never closed {{A}}', 'never closed a'],
  ['{{#A}}x{{/other}}y{{/A}}z', 'xyz'],
  ['{{cloze:C}}', '[...] y'],
  ['{{cloze:C}}', 'x y', { side: 'answer' }],
  ['{{type:A}}|{{type:cloze:C}}', '|'],
  ['{{type:A}}|{{type:cloze:C}}', 'a|x', { side: 'answer' }],
  ['{{type:cloze:E}}|{{cloze-only:E}}', 'x|x, x', { side: 'answer' }],
  ['{{type:cloze:E}}', 'y, z, y', { side: 'answer', clozeNumber: 2 }],
  ['{{type:cloze:E}}', '', { side: 'answer', clozeNumber: 3 }],
  ['{{hint:A}}', ''],
  ['{{hint:A}}', 'a', { showsHints: true }],
  ['{{A}} {{tts de_DE voices=Anna,Ben:A}}|{{text:tts de_DE:cloze:C}}', 'a |'],
  ['{{A}} {{tts de_DE voices=Anna,Ben:A}}|{{text:tts de_DE:cloze:C}}', 'a a|[...] y', { showsSpeech: true }],
  [
    'a [anki:tts lang=de_DE] b [anki:tts] {{A}}[/anki:tts]c[/anki:tts][anki:tts d',
    'a c[/anki:tts][anki:tts d',
  ],
  ['a[anki:tts lang=de_DE] b[/anki:tts]{{S}}', 'a b c', { showsSpeech: true }],
  ['{{S}}', ''],
  ['{{text:H}}', '1 &lt; 2'],
  [
    '{{furigana:J}}|{{kanji:J}}|{{kana:J}}',
    '<ruby>日本<rt>にほん</rt></ruby>語[sound:x.mp3]|日本語[sound:x.mp3]|にほん語[sound:x.mp3]',
  ],
  ['{{some-add-on:A}}{{!comment}}', 'a'],
  ['{{A}}{{=<% %>=}}<%A%>{{A}}', 'aa{{A}}'],
  ['open {{A', 'open {{A'],
  ['{{A}}<!-- {{#B}} --><b>shown</b><!-- {{/B}} -->', 'a<!-- {{#B}} --><b>shown</b><!-- {{/B}} -->'],
  ['<!-- {{#B}} -->{{A}}<!----><!--> {{A}}-->{{A}}', '<!-- {{#B}} -->a<!----><!--> {{A}}-->a'],
  ['{{!<!--}}{{A}}-->{{A}}<!-- {{A}}', 'a-->a<!-- a'],
])('%s is shown as %s', (template, shown, changes) => {
  expect(render(template, changes)).toBe(shown);
});

const NESTED = 'aa {{c1::bbb::hint}} {{c2::cc {{c3::in}} x}} }} {{c1::z}}';

test.each([
  [1, 'aa [hint] cc in x }} [...]', 'aa bbb cc in x }} z', 'bbb, z'],
  [2, 'aa bbb [...] }} z', 'aa bbb cc in x }} z', 'cc in x'],
  [3, 'aa bbb cc [...] x }} z', 'aa bbb cc in x }} z', 'in'],
  [4, '', '', ''],
])('card %i of a field with cloze deletions hides its own', (number, question, answer, only) => {
  expect(showCloze(NESTED, { number, side: 'question' })).toBe(question);
  expect(showCloze(NESTED, { number, side: 'answer' })).toBe(answer);
  expect(showClozeOnly(NESTED, { number, side: 'answer' })).toBe(only);
  expect(clozeNumbers(NESTED)).toEqual([1, 2, 3]);
});

test('one deletion can belong to several cards, and an area of an image is named by its number', () => {
  expect(clozeNumbers('{{c1,3::x}}')).toEqual([1, 3]);
  expect(clozeNumbers('{{c0::x}} {{c499::y}} {{c500::z}}')).toEqual([499]);
  const image = '{{c1::image-occlusion:rect:left=.1}}<br>{{c2::image-occlusion:rect:left=.2}}';
  expect(showCloze(image, { number: 2, side: 'question' })).toBe('<br>[area 2]');
});

test('a template that repeats itself or is nested deeply stays within bounds', () => {
  expect(render('{{FrontSide}}'.repeat(50_000), { frontSide: 'x'.repeat(1000) })).toHaveLength(10_000);
  expect(render('{{#A}}'.repeat(50_000) + '{{/B}}'.repeat(50_000))).toBe('');
  expect(render('<!--'.repeat(50_000))).toHaveLength(10_000);
  expect(render(`${'{{!<!--}}'.repeat(50_000)}-->`)).toBe('-->');
  expect(render(`${'<!---->'.repeat(50_000)}{{A}}`)).toHaveLength(10_000);
  expect(render('[anki:tts]'.repeat(50_000))).toHaveLength(10_000);
  expect(clozeNumbers('{{c1::'.repeat(50_000))).toEqual([1]);
  expect(JSON.stringify(parseTemplate(`{{${':'.repeat(50_000)}A}}`)).length).toBeLessThan(1000);
});

const fields = new Map([
  ['A', 'a'],
  ['B', '<br> '],
  ['J', '日本[にほん]語[sound:x.mp3]'],
  ['C', '{{c1::x}} {{c2::y}}'],
  ['E', '{{c1::x}} {{c1::x::hint}} {{c2::y}} {{c2::z}} {{c2::y}}'],
  ['S', '[anki:tts lang=de_DE] c[/anki:tts]'],
  ['H', '<b>1 &lt; 2</b>'],
]);
const base: Rendering = {
  fields,
  side: 'question',
  clozeNumber: 1,
  frontSide: 'FRONT',
  showsHints: false,
  showsSpeech: false,
};

const render = (template: string, changes: Partial<Rendering> = {}) =>
  renderTemplate(parseTemplate(template), { ...base, ...changes }, 10_000);
