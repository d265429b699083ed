// The deliveries that this process has leased.
import type { LeasedWork, LeaseKey } from './leases-repository.ts';

export type HeldLeases = {
  /** Those of `leases` that are new here. One that is held already, since the database's clock jumped, is renewed. */
  renew(leases: readonly LeaseKey[]): LeaseKey[];
  add(works: readonly LeasedWork[]): void;
  remove(work: LeasedWork): void;
  /** Resolves once fewer than `count` are held. */
  fewerThan(count: number): Promise<void>;
};

export function createHeldLeases(): HeldLeases {
  const held = new Map<string, LeasedWork>();
  let waiting: { count: number; resolve: () => void }[] = [];
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
    remove({ deliveryId }) {
      held.delete(deliveryId);
      for (const { resolve } of waiting.filter(({ count }) => held.size < count)) resolve();
      waiting = waiting.filter(({ count }) => held.size >= count);
    },
    async fewerThan(count) {
      if (held.size >= count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
    },
  };
}
