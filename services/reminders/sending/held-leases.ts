// The deliveries that this process has leased.
import type { LeasedWork, LeaseKey } from './leases-repository.ts';

type HeldLeases = {
  /** Those of `leases` that are new here. One that is held already, since the database's clock jumped, is renewed. */
  renew(leases: readonly LeaseKey[]): LeaseKey[];
  add(works: readonly LeasedWork[]): void;
  /** It waits for a host that is busy, and does not count for `room`; or no longer. */
  setWaiting(work: LeasedWork, isWaiting: boolean): void;
  remove(work: LeasedWork): void;
  /** Resolves once fewer than `count` are held beside those that wait, and fewer than 2,000 in all. */
  room(count: number): Promise<void>;
  /** Resolves once none is held. */
  empty(): Promise<void>;
};

const MOST = 2000;

export function createHeldLeases(): HeldLeases {
  const held = new Map<string, LeasedWork>();
  const waiting = new Set<string>();
  let awaited: { isMet: () => boolean; resolve: () => void }[] = [];
  const look = () => {
    for (const { resolve } of awaited.filter(({ isMet }) => isMet())) resolve();
    awaited = awaited.filter(({ isMet }) => !isMet());
  };
  const until = async (isMet: () => boolean) => {
    if (!isMet()) await new Promise<void>((resolve) => awaited.push({ isMet, resolve }));
  };
  return {
    renew(leases) {
      return leases.filter(({ deliveryId, lease }) => {
        const known = held.get(deliveryId);
        if (known !== undefined) known.lease = lease;
        return known === undefined;
      });
    },
    add(works) {
      for (const work of works) held.set(work.deliveryId, work);
    },
    setWaiting({ deliveryId }, isWaiting) {
      if (isWaiting) waiting.add(deliveryId);
      else waiting.delete(deliveryId);
      look();
    },
    remove({ deliveryId }) {
      held.delete(deliveryId);
      waiting.delete(deliveryId);
      look();
    },
    room: (count) => until(() => held.size - waiting.size < count && held.size < MOST),
    empty: () => until(() => held.size === 0),
  };
}
