// Runs checks, and shows what they found.
import type { Check, Finding } from '../../platform/checks.ts';

/** Time limit for a response of a service or the database; long, so that a busy one does not count as faulty or missing. */
export const ANSWER_MS = 5000;

/** With the name of its check. */
export type Named = { check: string } & Finding;

/** One after the other. @throws what one of them throws. */
export async function runChecks<On>(checks: readonly Check<On>[], on: On): Promise<Named[]> {
  const findings: Named[] = [];
  for (const { name, run } of checks) findings.push({ check: name, ...(await run(on)) });
  return findings;
}

/** A table with the remedy below each finding, and a summary line. */
export function showFindings(findings: readonly Named[]): string {
  const width = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const checkWidth = width(['check', ...findings.map(({ check }) => check)]);
  const line = (check: string, state: string, found: string) =>
    `${check.padEnd(checkWidth)}  ${state.padEnd('warning'.length)}  ${found}`;
  const indent = line('', '', '');
  const rows = findings.flatMap((finding) => [
    line(finding.check, finding.state, finding.found),
    ...(finding.state === 'ok' ? [] : [`${indent}-> ${finding.remedy}`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  const sum = `${count('bad')} bad, ${count('warning')} warning, ${count('ok')} ok`;
  const next = count('bad') === 0 ? '' : ' Fix what is bad, then run npm run doctor again.';
  return `${[line('check', 'state', 'finding, and how to fix it'), ...rows, '', `${sum}.${next}`].join('\n')}\n`;
}
