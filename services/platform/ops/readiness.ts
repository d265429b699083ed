// Whether this process should be sent requests, and if not, why: checks that each part adds, asked at most twice a second.

/** Degraded: something is missing, and requests are answered well all the same. */
export type Finding = { state: 'ok' } | { state: 'degraded' | 'failed'; reason: string };
export type ReadinessCheck = {
  /** "<part>/<what>", such as scheduling/database. */
  name: string;
  /** `reason` is for whoever can reach the port: no secret, nobody's data. A rejection is a failure. */
  find(): Finding | Promise<Finding>;
};

export type ReadinessReport = {
  ready: boolean;
  /** What keeps it from being ready, or makes it less than it should be, as "<check>: <why>". */
  reasons: string[];
  checks: ({ name: string } & Finding)[];
};

export type Readiness = {
  add(check: ReadinessCheck): void;
  report(): Promise<ReadinessReport>;
  /** All parts have been started. */
  started(): void;
  /** The end has begun: not ready, whatever the checks say. */
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding>((resolve) => {
    const giveUp = () => resolve({ state: 'failed', reason: 'no answer within 1 s' });
    // A process that was busy for longer reads first what has arrived meanwhile: sockets come before setImmediate.
    timer = setTimeout(() => setImmediate(giveUp), CHECK_MS);
  });
  try {
    return { name, ...(await Promise.race([find(), late])) };
  } catch (error) {
    return { name, state: 'failed', reason: codeOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** A code where there is one: the text of an error may say more than is anybody's business. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return code === undefined ? 'does not answer' : `does not answer (${code})`;
}
