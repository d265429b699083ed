// How many materials a page holds where some have long texts.

/** Of texts. A response is written in one piece, which other requests wait for. */
const MAX_BYTES = 1024 * 1024;

/** `bytes`: the size of each row's texts, in order. @returns how many of the first rows fit, at least one. */
export function rowsThatFit(bytes: readonly number[]): number {
  let total = 0;
  const end = bytes.findIndex((each) => {
    total += each;
    return total > MAX_BYTES;
  });
  return end === -1 ? bytes.length : Math.max(1, end);
}
