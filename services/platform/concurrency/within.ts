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
