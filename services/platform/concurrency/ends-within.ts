// Waits for the end of work no longer than a given time.
import { within } from './within.ts';

/** @returns whether `work` has ended within `timeoutMs`. @throws what it rejects with in that time. */
export function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const ended = work.then(() => true);
  return within(ended, timeoutMs, () => false);
}
