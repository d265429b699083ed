// How a room's score comes about.
import { expect, test } from 'vitest';
import { type MutantResult, percentOf, scoreOf, survivorLine } from './report.ts';

const mutant = (status: MutantResult['status'], before = '<'): MutantResult => ({
  file: 'a.ts',
  line: 7,
  operator: 'EqualityOperator',
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
  const equivalent = { file: 'a.ts', operator: 'EqualityOperator', before: '>', after: '<=', reason: 'why' };
  const score = scoreOf(results, [equivalent]);
  expect(score).toEqual({ killed: 3, counted: 4, equivalent: 1, survivors: [mutant('survived')] });
  expect(percentOf(score)).toBe(75);
});

test('an equivalent of another text, operator or file does not excuse a survivor', () => {
  for (const other of [{ before: '>' }, { operator: 'BooleanLiteral' }, { file: 'b.ts' }, { after: '>' }]) {
    const equivalent = {
      file: 'a.ts',
      operator: 'EqualityOperator',
      before: '<',
      after: '<=',
      reason: '',
      ...other,
    };
    expect(scoreOf([mutant('survived')], [equivalent]).survivors).toHaveLength(1);
  }
});

test('a survivor is told with its line and its change', () => {
  expect(survivorLine(mutant('survived'))).toBe('a.ts:7  EqualityOperator: < → <=');
});
