// What each operator makes of a statement, and what it leaves alone.
import { expect, test } from 'vitest';
import { apply, mutationsOf } from './operators.ts';

const mutantsBy = (operator: string, sql: string) =>
  mutationsOf(sql)
    .filter((mutation) => mutation.operator === operator)
    .map(({ edit }) => apply(sql, edit));

test('a comparison moves by its edge, and an equality, a cast and a string stay', () => {
  expect(
    mutantsBy('comparison edge', `SELECT '<' WHERE a < $1 AND b >= 2 AND c = 3 AND d::int <> 4`),
  ).toEqual([
    `SELECT '<' WHERE a <= $1 AND b >= 2 AND c = 3 AND d::int <> 4`,
    `SELECT '<' WHERE a < $1 AND b > 2 AND c = 3 AND d::int <> 4`,
  ]);
});

test('each condition that AND joins is dropped beside OR true, in WHERE, ON, HAVING and FILTER', () => {
  expect(
    mutantsBy('conjunct dropped', 'DELETE FROM t WHERE user_id = $1 AND n BETWEEN 1 AND 2 RETURNING 1'),
  ).toEqual([
    'DELETE FROM t WHERE ((user_id = $1) OR true) AND n BETWEEN 1 AND 2 RETURNING 1',
    'DELETE FROM t WHERE user_id = $1 AND ((n BETWEEN 1 AND 2) OR true) RETURNING 1',
  ]);
  expect(
    mutantsBy('conjunct dropped', 'SELECT * FROM a JOIN b ON a.x = b.x GROUP BY 1 HAVING count(*) > 1'),
  ).toEqual([
    'SELECT * FROM a JOIN b ON ((a.x = b.x) OR true) GROUP BY 1 HAVING count(*) > 1',
    'SELECT * FROM a JOIN b ON a.x = b.x GROUP BY 1 HAVING ((count(*) > 1) OR true)',
  ]);
  expect(mutantsBy('conjunct dropped', 'SELECT count(*) FILTER (WHERE a > 1), b FROM t')).toEqual([
    'SELECT count(*) FILTER (WHERE ((a > 1) OR true)), b FROM t',
  ]);
});

test('a condition with OR is dropped as a whole, and a group of conditions also one by one', () => {
  expect(mutantsBy('conjunct dropped', 'SELECT FROM t WHERE a = 1 OR b = 2 AND c = 3')).toEqual([
    'SELECT FROM t WHERE ((a = 1 OR b = 2 AND c = 3) OR true)',
  ]);
  expect(mutantsBy('conjunct dropped', 'SELECT FROM t WHERE (a = 1 AND b = 2)')).toEqual([
    'SELECT FROM t WHERE (((a = 1 AND b = 2)) OR true)',
    'SELECT FROM t WHERE (((a = 1) OR true) AND b = 2)',
    'SELECT FROM t WHERE (a = 1 AND ((b = 2) OR true))',
  ]);
});

test('a row lock goes, with what it says of locked rows and without', () => {
  const sql = 'SELECT FROM t ORDER BY a FOR NO KEY UPDATE OF t SKIP LOCKED';
  expect(mutantsBy('lock dropped', sql)).toEqual(['SELECT FROM t ORDER BY a ']);
  expect(mutantsBy('SKIP LOCKED dropped', sql)).toEqual(['SELECT FROM t ORDER BY a FOR NO KEY UPDATE OF t ']);
});

test('a conflict that was passed over fails, and one that was written over is passed over', () => {
  expect(mutantsBy('ON CONFLICT turned', 'INSERT INTO t VALUES (1) ON CONFLICT (a) DO NOTHING')).toEqual([
    'INSERT INTO t VALUES (1) ',
  ]);
  const over = 'INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1';
  expect(mutantsBy('ON CONFLICT turned', `${over} RETURNING 1`)).toEqual([`${over} WHERE false RETURNING 1`]);
  expect(mutantsBy('ON CONFLICT turned', `${over} WHERE t.c < $1 RETURNING 1`)).toEqual([
    `${over} WHERE (t.c < $1) AND false RETURNING 1`,
  ]);
});

test('the last key of a sort goes, and each key turns round', () => {
  const sql = 'SELECT FROM t ORDER BY coalesce(a, 1), b DESC LIMIT 2';
  expect(mutantsBy('last sort key dropped', sql)).toEqual(['SELECT FROM t ORDER BY coalesce(a, 1) LIMIT 2']);
  expect(mutantsBy('last sort key dropped', 'SELECT row_number() OVER (ORDER BY a) FROM t')).toEqual([
    'SELECT row_number() OVER () FROM t',
  ]);
  expect(mutantsBy('sort direction turned', sql)).toEqual([
    'SELECT FROM t ORDER BY coalesce(a, 1) DESC, b DESC LIMIT 2',
    'SELECT FROM t ORDER BY coalesce(a, 1), b ASC LIMIT 2',
  ]);
});

test('an inner join keeps rows without a partner, and an outer one loses them', () => {
  expect(mutantsBy('join widened', 'SELECT FROM a JOIN b USING (x)')).toEqual([
    'SELECT FROM a LEFT JOIN b USING (x)',
  ]);
  expect(mutantsBy('join widened', 'SELECT FROM a LEFT JOIN b ON true')).toEqual([
    'SELECT FROM a JOIN b ON true',
  ]);
  expect(mutantsBy('join widened', 'SELECT FROM a CROSS JOIN LATERAL (SELECT f(a)) b ORDER BY 1')).toEqual([
    'SELECT FROM a LEFT JOIN LATERAL (SELECT f(a)) b ON true ORDER BY 1',
  ]);
});

test('a limit goes, or gives one more, and its parameter stays a number', () => {
  expect(mutantsBy('LIMIT dropped', 'SELECT FROM t LIMIT $2')).toEqual([
    'SELECT FROM t LIMIT ($2)::bigint + NULL',
  ]);
  expect(mutantsBy('LIMIT one more', 'SELECT FROM t LIMIT $2')).toEqual([
    'SELECT FROM t LIMIT ($2)::bigint + 1',
  ]);
});

test('a column that is set keeps what it had', () => {
  expect(mutantsBy('assignment dropped', 'UPDATE s.t SET a = $1, b = f(1, 2) WHERE c = 3')).toEqual([
    'UPDATE s.t SET a = CASE WHEN true THEN t.a ELSE $1 END, b = f(1, 2) WHERE c = 3',
    'UPDATE s.t SET a = $1, b = CASE WHEN true THEN t.b ELSE f(1, 2) END WHERE c = 3',
  ]);
  expect(
    mutantsBy(
      'assignment dropped',
      'INSERT INTO s.t AS r VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.b',
    ),
  ).toEqual([
    'INSERT INTO s.t AS r VALUES (1) ON CONFLICT (a) DO UPDATE SET b = CASE WHEN true THEN r.b ELSE excluded.b END',
  ]);
  expect(mutantsBy('assignment dropped', `SET LOCAL statement_timeout = '60s'`)).toEqual([]);
});
