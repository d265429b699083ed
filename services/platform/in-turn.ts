// Lets work on one thing wait for the work on it before, in this process, without holding anything while it waits.

/**
 * A function that runs `work` once all earlier work under the same key has ended, however it did. Work under other keys
 * is not waited for.
 */
export function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const latest = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const before = latest.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    latest.set(key, mine);
    const leave = () => {
      if (latest.get(key) === mine) latest.delete(key);
    };
    mine.then(leave, leave);
    return mine;
  };
}
