// Readiness: runs the checks of all parts at most twice a second and reports why the process is not ready.
import { bad, type Check, type Finding } from '../checks.ts';
import { within } from '../concurrency.ts';
import { errorCode } from '../thrown.ts';

/** Degraded: a dependency is unavailable, but requests succeed. */
type Reported = { name: string } & (
  | { state: 'ok' }
  | { state: 'degraded' | 'failed'; reason: string; remedy: string }
);

type ReadinessReport = {
  ready: boolean;
  /** Reasons of failed and degraded checks, as "<check>: <reason>". */
  reasons: string[];
  checks: Reported[];
};

export type Readiness = {
  /** Names are "<part>/<what>", such as scheduling/database. The ops port shows the findings: no user data. A check that rejects is bad. */
  add(check: Check): void;
  report(): Promise<ReadinessReport>;
  /** Marks all parts as started. */
  started(): void;
  /** Marks the beginning of the shutdown: not ready from now on. */
  stopping(): void;
};

const CHECK_MS = 1000;
const CACHE_MS = 500;

export function createReadiness(): Readiness {
  const checks: Check[] = [];
  let phase: 'starting' | 'running' | 'stopping' = 'starting';
  let cached: { madeTime: number; findings: Promise<ReadinessReport['checks']> } | undefined;
  const findings = () => {
    if (cached === undefined || performance.now() - cached.madeTime > CACHE_MS) {
      cached = { madeTime: performance.now(), findings: Promise.all(checks.map(runCheck)) };
    }
    return cached.findings;
  };
  return {
    add(check) {
      checks.push(check);
      cached = undefined;
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

async function runCheck({ name, run }: Check): Promise<Reported> {
  const late = () => bad('no answer within 1 s', READ_LOG);
  const finding = await within(Promise.resolve().then(run), CHECK_MS, late).catch(
    (error: unknown): Finding => bad(codeOf(error), READ_LOG),
  );
  if (finding.state === 'ok') return { name, state: 'ok' };
  const { state, found, remedy } = finding;
  return { name, state: state === 'bad' ? 'failed' : 'degraded', reason: found, remedy };
}
const READ_LOG = 'read the log of this process, and run npm run doctor with its environment';

/** The error's code, not its message, which can contain internal data. */
export function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = errorCode(cause);
  return code === '' ? 'does not answer' : `does not answer (${code})`;
}
