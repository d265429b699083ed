// Which mutants of SQL belong to which room.
import type { MutantResult } from '../report.ts';

export type SqlShare = 'isolation and locks' | 'the rest';

const OPERATORS = new Set(['lock dropped', 'SKIP LOCKED dropped', 'NOWAIT dropped', 'ON CONFLICT turned']);

/** Isolation and locks: whose rows, which revision, and who waits for whom. A revision that a page ends at is the rest's. */
export function shareOf({ operator, before }: Pick<MutantResult, 'operator' | 'before'>): SqlShare {
  if (OPERATORS.has(operator)) return 'isolation and locks';
  const isCondition = operator === 'conjunct dropped' || operator === 'assignment dropped';
  return isCondition && /\buser_id\b|\brevision = /.test(before) ? 'isolation and locks' : 'the rest';
}
