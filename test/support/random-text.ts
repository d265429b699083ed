// Texts that are as hard to index as texts can be: no piece of them comes twice. The same at each run.

/** Marsaglia's xorshift: whole numbers from 0 below `limit`. */
export function createRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

/** `bytes` printable ASCII characters. */
export function randomAscii(bytes: number, seed: number): string {
  const random = createRandom(seed);
  return repeated(bytes, () => 32 + random(95));
}

/** Chinese characters of three bytes each, as many as `bytes` hold. */
export function randomChinese(bytes: number, seed: number): string {
  const random = createRandom(seed);
  return repeated(Math.floor(bytes / 3), () => 0x4e00 + random(20_000));
}

function repeated(length: number, next: () => number): string {
  const characters = new Uint16Array(length).map(next);
  return Buffer.from(characters.buffer).toString('utf16le');
}
