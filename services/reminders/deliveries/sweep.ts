// Forgets deliveries after 90 days.
import type { Dependencies } from '../dependencies.ts';
import { deleteOldDeliveries } from './deliveries-repository.ts';

const KEPT_MS = 90 * 86_400_000;
const AT_A_TIME = 1000;

/** Deletes up to a thousand deliveries. @returns whether there may be more. */
export async function sweepDeliveries({
  database,
  now,
}: Pick<Dependencies, 'database' | 'now'>): Promise<boolean> {
  const before = new Date(now().getTime() - KEPT_MS);
  return (await deleteOldDeliveries(database, before, AT_A_TIME)) === AT_A_TIME;
}
