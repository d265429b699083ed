// A mutex per key within this process. Waiting work holds no connection.

/** Returns a function that runs `work` after all earlier work of the same key has settled. */
export function createKeyedMutex(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
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
