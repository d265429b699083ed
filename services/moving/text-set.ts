// A set of texts for files of millions of rows: each text takes about 60 bytes, however long it is.
import { hash } from 'node:crypto';

/**
 * Keeps 64 bits of each text's SHA-256: the chance that any two of a million texts are taken for one is below 10^-7
 * (birthday bound, n^2 / 2^65).
 */
export function createTextSet() {
  const digests = new Set<bigint>();
  return {
    has: (text: string) => digests.has(digestOf(text)),
    add: (text: string) => void digests.add(digestOf(text)),
  };
}

const digestOf = (text: string) => hash('sha256', text, 'buffer').readBigUInt64LE();
