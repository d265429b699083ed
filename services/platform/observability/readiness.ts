// Readiness: runs the checks of all parts at most twice a second and reports why the process is not ready.
import { within } from '../concurrency.ts';
import { errorCode } from '../thrown.ts';

/** Degraded: a dependency is unavailable, but requests succeed. */
export type Finding = { state: 'ok' } | { state: 'degraded' | 'failed'; reason: string };
export type ReadinessCheck = {
  /** "<part>/<what>", such as scheduling/database. */
  name: string;
  /** `reason` is visible on the ops port: no secrets, no user data. A rejection counts as failed. */
  find(): Finding | Promise<Finding>;
};

type ReadinessReport = {
  ready: boolean;
  /** Reasons of failed and degraded checks, as "<check>: <reason>". */
  reasons: string[];
  checks: ({ name: string } & Finding)[];
};

export type Readiness = {
  add(check: ReadinessCheck): void;
  report(): Promise<ReadinessReport>;
  /** Marks all parts as started. */
  started(): void;
  /** Marks the beginning of the shutdown: not ready from now on. */
  stopping(): void;
};

const CHECK_MS = 1000;
const KEPT_MS = 500;

export function createReadiness(): Readiness {
  const checks: ReadinessCheck[] = [];
  let phase: 'starting' | 'running' | 'stopping' = 'starting';
  let kept: { madeTime: number; findings: Promise<ReadinessReport['checks']> } | undefined;
  const findings = () => {
    if (kept === undefined || performance.now() - kept.madeTime > KEPT_MS) {
      kept = { madeTime: performance.now(), findings: Promise.all(checks.map(ask)) };
    }
    return kept.findings;
  };
  return {
    add(check) {
      checks.push(check);
      kept = undefined;
    },
    async report() {
      if (phase !== 'running') {
        const reason = phase === 'starting' ? 'starting' : 'shutting down';
        return { ready: false, reasons: [`process: ${reason}`], checks: [] };
      }
      const found = await findings();
      return {
        ready: found.every(({ state }) => state !== 'failed'),
        reasons: found.flatMap((check) => (check.state === 'ok' ? [] : `${check.name}: ${check.reason}`)),
        checks: found,
      };
    },
    started() {
      phase = 'running';
    },
    stopping() {
      phase = 'stopping';
    },
  };
}

async function ask({ name, find }: ReadinessCheck): Promise<{ name: string } & Finding> {
  const late = (): Finding => ({ state: 'failed', reason: 'no answer within 1 s' });
  try {
    return { name, ...(await within(Promise.resolve(find()), CHECK_MS, late)) };
  } catch (error) {
    return { name, state: 'failed', reason: codeOf(error) };
  }
}

/** The error's code, not its message, which can contain internal data. */
export function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = errorCode(cause);
  return code === '' ? 'does not answer' : `does not answer (${code})`;
}
