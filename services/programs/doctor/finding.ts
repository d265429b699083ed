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
  return `${[line('check', 'state', 'finding, and how to fix it'), ...rows, '', sum].join('\n')}\n`;
}

/** An error in one line: code and message, without user data. */
export function oneLine(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const details = cause instanceof Error && 'details' in cause ? String(cause.details) : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const message = cause instanceof Error ? cause.message : String(cause);
  const text = (details || message || code || 'unknown fault').replace(/\s+/g, ' ');
  // grpc-js wraps the original error.
  return (/.*\bError: (.+?)\.? Resolution note/.exec(text)?.[1] ?? text).slice(0, 200);
}
