// A set of texts for files of millions of rows: each text takes 16 to 32 bytes outside the heap, however long it is.
import { hash } from 'node:crypto';

type TextSet = { has(text: string): boolean; add(text: string): void };

/**
 * Keeps 64 bits of each text's SHA-256: the chance that any two of a million texts are taken for one is below 10^-7
 * (birthday bound, n^2 / 2^65).
 */
export function createTextSet(): TextSet {
  /** A hash table with linear probing, at most half full. 0: free. */
  let slots = new BigUint64Array(1024);
  let size = 0;
  /** Where `digest` is, or else the free slot for it. */
  const slotOf = (digest: bigint): number => {
    const last = slots.length - 1;
    let slot = Number(digest & BigInt(last));
    while (slots[slot] !== 0n && slots[slot] !== digest) slot = (slot + 1) & last;
    return slot;
  };
  const store = (digest: bigint) => {
    slots[slotOf(digest)] = digest;
  };
  return {
    has(text) {
      const digest = digestOf(text);
      return slots[slotOf(digest)] === digest;
    },
    add(text) {
      const digest = digestOf(text);
      if (slots[slotOf(digest)] === digest) return;
      store(digest);
      size += 1;
      if (size * 2 <= slots.length) return;
      const smaller = slots;
      slots = new BigUint64Array(smaller.length * 2);
      for (const each of smaller) if (each !== 0n) store(each);
    },
  };
}

function digestOf(text: string): bigint {
  return hash('sha256', text, 'buffer').readBigUInt64LE() || 1n;
}
