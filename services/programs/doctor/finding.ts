// The findings of checks, and their output.

export type Finding = {
  check: string;
  state: 'ok' | 'warning' | 'bad';
  /** The observed state; never a secret. */
  found: string;
  /** How to fix it; undefined for `ok`. */
  remedy?: string;
};

/** Creates findings of the named check. */
export function checkNamed(check: string) {
  return {
    ok: (found: string): Finding => ({ check, state: 'ok', found }),
    warning: (found: string, remedy: string): Finding => ({ check, state: 'warning', found, remedy }),
    bad: (found: string, remedy: string): Finding => ({ check, state: 'bad', found, remedy }),
  };
}

/** A table with the remedy below each finding, and a summary line. */
export function showFindings(findings: readonly Finding[]): string {
  const width = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const checkWidth = width(['check', ...findings.map(({ check }) => check)]);
  const line = (check: string, state: string, found: string) =>
    `${check.padEnd(checkWidth)}  ${state.padEnd('warning'.length)}  ${found}`;
  const indent = line('', '', '');
  const rows = findings.flatMap(({ check, state, found, remedy }) => [
    line(check, state, found),
    ...(remedy === undefined ? [] : [`${indent}-> ${remedy}`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  const sum = `${count('bad')} bad, ${count('warning')} warning, ${count('ok')} ok`;
  const next = count('bad') === 0 ? '' : ' Fix what is bad, then run npm run doctor again.';
  return `${[line('check', 'state', 'finding, and how to fix it'), ...rows, '', `${sum}.${next}`].join('\n')}\n`;
}
