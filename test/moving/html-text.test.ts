// HTML of cards as text.
import { expect, test } from 'vitest';
import { toTitle } from '../../services/moving/card.ts';
import { toLabels } from '../../services/moving/labels.ts';
import { htmlToText } from '../../services/moving/text/html-text.ts';

test.each([
  ['hello\n\n<hr id=answer>\n\nworld', 'hello\n\nworld'],
  ['a<br>b<br><br>c<div>d</div><div><br></div><div>e</div>', 'a\nb\n\nc\nd\n\ne'],
  ['5 &lt; 6 &amp; a < b&nbsp;&eacute;', '5 < 6 & a < b é'],
  ['10<sup>5</sup> H<sub>2</sub>O 1<sup>st</sup>', '10⁵ H₂O 1st'],
  ['2<sup>1/2</sup> 10<sup>&minus;0.5</sup> e<sup>2<i>x</i> </sup>y', '2^(1/2) 10^(−0.5) e^(2x) y'],
  ['e<sup>x</sup> e<sup>&minus;kt</sup> a<sup>b+c</sup>', 'e^x e^(−kt) a^(b+c)'],
  [
    'a<sub>n-1</sub> &Sigma;<sub>i=1</sub><sup>n</sup> x<sub>i</sub> V<sub>max</sub>',
    'a_(n-1) Σ_(i=1)ⁿ xi Vmax',
  ],
  ['M<sup>r</sup> 2<sup>nd</sup> n<sup>o</sup> t<sub>half-life</sub>', 'Mr 2nd no thalf-life'],
  ['p53<sup>-/-</sup> word<sup>*</sup> p<sup>**</sup> x<sub>*</sub>', 'p53-/- word* p** x*'],
  ['so<sup>[1]</sup><sup> 2</sup>, <sup>since 1990</sup>', 'so[1] ², since 1990'],
  ['2<sup>1/2', '2^(1/2)'],
  ['<img src="al%20x.png" />a [sound:1.mp3]', '[image: al x.png]a [sound:1.mp3]'],
  [`<img src="data:image/png;base64,${'A'.repeat(5000)}" alt="a map">`, '[image: a map]'],
  ['<iframe src="https://v.example/x?a=1&amp;b=2"></iframe>!', '[page: https://v.example/x?a=1&b=2]!'],
  ['<ruby>食<rt>た</rt></ruby>べる', '食(た)べる'],
  ['<ruby>食<rp>(</rp><rt>た</rt><rp>)</rp></ruby>べる', '食(た)べる'],
  ['<ruby>食<rp>(<rt>た</rt><rp>)</ruby>べる', '食(た)べる'],
  ['<script>alert(1)</script>hi<style>.a{}</style>', 'hi'],
  ['<script>never closed', ''],
  [
    '<a href="https://x.example/z">there</a> <a href="javascript:alert(1)">x</a>',
    'there (https://x.example/z) x',
  ],
  ['<ul><li>one</li><li>two <b>x</b></li></ul>after', '- one\n- two x\n\nafter'],
  ['<ul><li><p>one</p></li><li><div>two</div></li></ul>', '- one\n\n- two'],
  [
    '<ol><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ol><ol start="4"><li>e</li></ol><ol start="x"><li>f',
    '1. a\n2. b\n  - c\n3. d\n\n4. e\n\n1. f',
  ],
  [
    '<ul><li>a<ul><li>b<ol><li>c</li></ol></li><li>d</li></ul></li><ul><li>e</li></ul><li>f</li></ul>g',
    '- a\n  - b\n    1. c\n  - d\n  - e\n- f\n\ng',
  ],
  ['a<ul><li> <pre>b</pre></li><li></li></ul>c<ul><li><b></ul>d', 'a\n\n- b\n\nc\n\nd'],
  ['<audio><source src="x.mp3"><source src="x.ogg"></audio>!', '[sound: x.mp3]!'],
  ['<audio></audio><video controls><source src="y.mp4">', '[sound][video: y.mp4]'],
  ['<audio src="z.mp3">a<source src="x.mp3"></audio><audio>', '[sound: z.mp3]a[sound]'],
  ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
  ['f:<br>&nbsp; &nbsp;a<div>&nbsp;&nbsp;<b> b</b>&nbsp;&nbsp;c</div>', 'f:\n   a\n   b c'],
  ['a<br> &nbsp;b<div>&nbsp;&nbsp;</div>\n  <p>c', 'a\nb\n\nc'],
  ['<pre>  x\n\n\n   y</pre>', 'x\n\n\n   y'],
  ['a<!-- not this -->b<unknown>c', 'abc'],
  ['plain', 'plain'],
])('%s is read as %s', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test('a text ends where it is full, however deep its tags are nested', () => {
  expect(htmlToText(`${'<div>'.repeat(100_000)}${'x'.repeat(500)}`, { maxLength: 100 })).toBe(
    'x'.repeat(100),
  );
});

test.each([
  ['a\n b\u0000', 'a b'],
  ['x'.repeat(240), 'x'.repeat(240)],
  ['😀'.repeat(240), '😀'.repeat(240)],
  ['😀'.repeat(241), `${'😀'.repeat(239)}…`],
  ['🇩🇪'.repeat(121), `${'🇩🇪'.repeat(119)}…`],
  [`${'x'.repeat(238)}👨‍👩‍👧 y`, `${'x'.repeat(238)}…`],
  ['각'.repeat(81).normalize('NFD'), `${'각'.repeat(79).normalize('NFD')}…`],
  ['\ud800', '\ufffd'],
  ['  ', ''],
])('a title is one line of at most 240 characters: %#', (text, title) => {
  expect(toTitle(text)).toBe(title);
});

test.each([
  [[['Spanish', 'Verbs'], ['leech']], ['Spanish/Verbs', 'leech'], []],
  [[['a', '', ' b '], ['a', 'b'], ['']], ['a/b'], []],
  // A deck whose name shows nothing, as people make to leave a space.
  [[['a', '\u3164', 'b'], ['\u200b']], ['a/b'], []],
  [[['HSK 1/2', 'x']], ['HSK 1∕2/x'], []],
  [[['x'.repeat(61)]], [`…${'x'.repeat(59)}`], []],
  [[['🇩🇪'.repeat(31)]], [`…${'🇩🇪'.repeat(29)}`], []],
  [
    Array.from({ length: 22 }, (_, index) => [`${index}`]),
    Array.from({ length: 20 }, (_, index) => `${index}`),
    ['more than 20 labels: the first 20 are kept'],
  ],
])('paths become labels: %#', (paths, labels, notes) => {
  const noted: string[] = [];
  expect(toLabels(paths, (reason) => noted.push(reason))).toEqual(labels);
  expect(noted).toEqual(notes);
});
