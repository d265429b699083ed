// Keeps one slow or failing host from holding up what goes to others.
import { atMostPerKey } from '../../platform/concurrency.ts';

/** Temporary failures in a row after which a host is left alone, and for how long; then one message tries it. */
const FAILURES = 5;
const REST_MS = 30_000;
/** Beyond it the host that failed first is forgotten: users choose the hosts of their subscriptions. */
const MAX_FAILING = 10_000;

type Hosts = {
  /** Runs `work` when fewer than the host's share of others run; undefined, without running it, while the host rests. */
  run<T>(host: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Milliseconds until the host is tried again; 0 for one that does not rest. */
  restMs(host: string): number;
  /** Notes whether the host did its work, be it with a refusal. */
  note(host: string, isWorking: boolean): void;
};

/** `perHost`: runs at once for one host. `clock`: milliseconds that only go forward. */
export function createHosts({ perHost, clock }: { perHost: number; clock: () => number }): Hosts {
  const limit = atMostPerKey<string>(perHost);
  /** Only hosts whose latest attempt failed. */
  const failing = new Map<string, { failures: number; restsUntil: number }>();
  const restMs = (host: string) => Math.max(0, (failing.get(host)?.restsUntil ?? 0) - clock());
  /** Others wait for what becomes of the first after a rest. */
  const tryOut = (host: string) => {
    const known = failing.get(host);
    if (known !== undefined && known.failures >= FAILURES) known.restsUntil = clock() + REST_MS;
  };
  return {
    run: (host, work) =>
      limit(host, async () => {
        if (restMs(host) > 0) return undefined;
        tryOut(host);
        return work();
      }),
    restMs,
    note(host, isWorking) {
      if (isWorking) {
        failing.delete(host);
        return;
      }
      const failures = (failing.get(host)?.failures ?? 0) + 1;
      failing.set(host, { failures, restsUntil: failures >= FAILURES ? clock() + REST_MS : 0 });
      if (failing.size > MAX_FAILING) {
        const [first = host] = failing.keys();
        failing.delete(first);
      }
    },
  };
}
