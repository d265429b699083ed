// Bounds the number of concurrent runs.

/** Returns a function that runs `work` when fewer than `max` others run; waiting calls start in arrival order. */
export function atMost(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async (work) => {
    if (running < max) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

/** The same for each key: work of one key does not wait for that of another. Keys without work are forgotten. */
export function atMostPerKey<K>(max: number): <T>(key: K, work: () => Promise<T>) => Promise<T> {
  const limits = new Map<K, { run: ReturnType<typeof atMost>; users: number }>();
  return async (key, work) => {
    const limit = limits.get(key) ?? { run: atMost(max), users: 0 };
    limits.set(key, limit);
    limit.users += 1;
    try {
      return await limit.run(work);
    } finally {
      limit.users -= 1;
      if (limit.users === 0) limits.delete(key);
    }
  };
}
