// What a check found, and how it is shown.

export type Finding = {
  check: string;
  state: 'ok' | 'warning' | 'bad';
  /** What is there. Never a secret. */
  found: string;
  /** What to do about it; undefined where nothing is wrong. */
  mend?: string;
};

/** One check's findings under its name. */
export function checkNamed(check: string) {
  return {
    ok: (found: string): Finding => ({ check, state: 'ok', found }),
    warning: (found: string, mend: string): Finding => ({ check, state: 'warning', found, mend }),
    bad: (found: string, mend: string): Finding => ({ check, state: 'bad', found, mend }),
  };
}

/** A table with a line under each finding that needs something done, and a last line that counts. */
export function showFindings(findings: readonly Finding[]): string {
  const width = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const checkWidth = width(['check', ...findings.map(({ check }) => check)]);
  const line = (check: string, state: string, found: string) =>
    `${check.padEnd(checkWidth)}  ${state.padEnd('warning'.length)}  ${found}`;
  const indent = line('', '', '');
  const rows = findings.flatMap(({ check, state, found, mend }) => [
    line(check, state, found),
    ...(mend === undefined ? [] : [`${indent}-> ${mend}`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  const sum = `${count('bad')} bad, ${count('warning')} to look at, ${count('ok')} ok`;
  return `${[line('check', 'state', 'found, and how to mend it'), ...rows, '', sum].join('\n')}\n`;
}

/** An error in one line: its code and its text, without what a caller sent. */
export function oneLine(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const details = cause instanceof Error && 'details' in cause ? String(cause.details) : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const message = cause instanceof Error ? cause.message : String(cause);
  const text = (details || message || code || 'unknown fault').replace(/\s+/g, ' ');
  // gRPC wraps what happened in what it made of it.
  return (/.*\bError: (.+?)\.? Resolution note/.exec(text)?.[1] ?? text).slice(0, 200);
}
