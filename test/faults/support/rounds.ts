// How much of each fault is tried: all of it by default, a share with ROUNDS below 20.

export const ROUNDS = Number(process.env.ROUNDS ?? 20);

/** So many as are tried in full, scaled down with ROUNDS. */
export const sized = (full: number) => Math.max(1, Math.round((full * ROUNDS) / 20));
