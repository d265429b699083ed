// Waits for work no longer than a given time.

/** What `work` resolves to, or what `late` returns or throws if that takes longer. The work itself goes on. */
export async function within<T, L>(work: Promise<T>, timeoutMs: number, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<typeof EXPIRED>((resolve) => {
    // After a blocked event loop, setImmediate lets sockets deliver a response that has already arrived.
    timer = setTimeout(() => setImmediate(resolve, EXPIRED), timeoutMs);
  });
  try {
    const first = await Promise.race([work, expired]);
    return first === EXPIRED ? late() : first;
  } finally {
    clearTimeout(timer);
  }
}

const EXPIRED = Symbol('expired');

/** @returns whether `work` has ended within `timeoutMs`. @throws what it rejects with in that time. */
export function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const ended = work.then(() => true);
  return within(ended, timeoutMs, () => false);
}
