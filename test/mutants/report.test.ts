// How a room's score comes about, and which mutants of SQL are one and the same.
import { expect, test } from 'vitest';
import { type MutantResult, percentOf, scoreOf, survivorLine } from './report.ts';
import { mutantsOf } from './sql/mutants.ts';
import { shareOf } from './sql/shares.ts';

const mutant = (status: MutantResult['status'], before = '<'): MutantResult => ({
  file: 'a.ts',
  line: 7,
  operator: 'comparison edge',
  before,
  after: '<=',
  status,
});

test('a score counts the noticed and the survivors, without those that are invalid, ignored or known to change nothing', () => {
  const results = [
    mutant('killed'),
    mutant('killed'),
    mutant('killed'),
    mutant('survived'),
    mutant('survived', '>'),
    mutant('invalid'),
    mutant('ignored'),
  ];
  const equivalent = { file: 'a.ts', operator: 'comparison edge', before: '>', after: '<=', reason: 'why' };
  const score = scoreOf(results, [equivalent]);
  expect(score).toEqual({ killed: 3, counted: 4, equivalent: 1, survivors: [mutant('survived')] });
  expect(percentOf(score)).toBe(75);
});

test('an equivalent of another text, operator or file does not excuse a survivor', () => {
  for (const other of [{ before: '>' }, { operator: 'LIMIT dropped' }, { file: 'b.ts' }, { after: '>' }]) {
    const equivalent = {
      file: 'a.ts',
      operator: 'comparison edge',
      before: '<',
      after: '<=',
      reason: '',
      ...other,
    };
    expect(scoreOf([mutant('survived')], [equivalent]).survivors).toHaveLength(1);
  }
});

test('a survivor is told with its line and its change', () => {
  expect(survivorLine(mutant('survived'))).toBe('a.ts:7  comparison edge: < → <=');
});

test('variants of one line of source are one mutant, which changes all of them and is tried by the files of all', () => {
  const sources = {
    has: (statement: string) => statement !== 'SELECT 1 < 2',
    placeOf: () => ({ file: 'a.ts', line: 7 }),
  };
  const sent = [
    { file: 'x.test.ts', statements: ['SELECT FROM t WHERE a < $1', 'SELECT 1 < 2'] },
    { file: 'y.test.ts', statements: ['SELECT FROM t WHERE b AND a < $2'] },
  ];
  const edges = mutantsOf(sent, sources).filter(({ operator }) => operator === 'comparison edge');
  expect(edges).toEqual([
    {
      file: 'a.ts',
      line: 7,
      operator: 'comparison edge',
      before: '<',
      after: '<=',
      replacements: {
        'SELECT FROM t WHERE a < $1': 'SELECT FROM t WHERE a <= $1',
        'SELECT FROM t WHERE b AND a < $2': 'SELECT FROM t WHERE b AND a <= $2',
      },
      testFiles: ['x.test.ts', 'y.test.ts'],
    },
  ]);
});

test('whose rows, which revision and what is locked belong to isolation, and where a page ends does not', () => {
  expect(shareOf({ operator: 'conjunct dropped', before: 'm.user_id = $1' })).toBe('isolation and locks');
  expect(shareOf({ operator: 'conjunct dropped', before: 'revision = $3 - 1' })).toBe('isolation and locks');
  expect(shareOf({ operator: 'lock dropped', before: 'FOR UPDATE' })).toBe('isolation and locks');
  expect(shareOf({ operator: 'conjunct dropped', before: 'm.revision < $4' })).toBe('the rest');
  expect(shareOf({ operator: 'sort direction turned', before: 'm.user_id' })).toBe('the rest');
});
