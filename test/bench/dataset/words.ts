// Text that looks like a learner's, the same in every run.

const WORDS =
  'the memory of a word fades unless it is called back in time and each return makes the next one longer so that a little practice every day keeps what was learned while cramming loses most within weeks as many studies have shown again'.split(
    ' ',
  );

/** Uniform in [0, 1), from a 32-bit state (mulberry32): small, fast, and repeatable. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Of exactly `length` characters, ASCII. */
export function prose(random: () => number, length: number): string {
  let text = '';
  while (text.length < length) text += `${WORDS[Math.floor(random() * WORDS.length)]} `;
  return text.slice(0, length - 1).padEnd(length, '.');
}
