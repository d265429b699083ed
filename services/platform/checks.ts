// The one form of a check. The start of a program runs those it needs, GET /ready the cheap ones, npm run doctor all of them.

/** `found`: the observed state, `remedy`: how to fix it. Neither has a secret. */
export type Finding =
  | { state: 'ok'; found: string }
  /** `warning`: requests succeed. */
  | { state: 'warning' | 'bad'; found: string; remedy: string };

/** `On`: what it looks at, such as a connection. */
export type Check<On = unknown> = { name: string; run(on: On): Finding | Promise<Finding> };

export const ok = (found: string): Finding => ({ state: 'ok', found });
export const warning = (found: string, remedy: string): Finding => ({ state: 'warning', found, remedy });
export const bad = (found: string, remedy: string): Finding => ({ state: 'bad', found, remedy });

/** For a start. `what` begins the message. @throws Error with the first bad finding and its remedy. */
export async function requireGood<On>(what: string, checks: readonly Check<On>[], on: On): Promise<void> {
  for (const { name, run } of checks) {
    const finding = await run(on);
    if (finding.state === 'bad') throw new Error(`${what}: ${name}: ${finding.found}. ${finding.remedy}`);
  }
}
