// PostgreSQL's uuid_hash, by which Citus finds the shard of a user.

const rotate = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits));

/** The hash of a UUID in text, a signed 32-bit integer: Bob Jenkins's lookup3 over its 16 bytes, as in PostgreSQL's hashfn.c. */
export function uuidHash(uuid: string): number {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  const seed = (0x9e3779b9 + bytes.length + 3923095) | 0;
  let a = (seed + bytes.readInt32LE(0)) | 0;
  let b = (seed + bytes.readInt32LE(4)) | 0;
  let c = (seed + bytes.readInt32LE(8)) | 0;
  a = ((a - c) ^ rotate(c, 4)) | 0;
  c = (c + b) | 0;
  b = ((b - a) ^ rotate(a, 6)) | 0;
  a = (a + c) | 0;
  c = ((c - b) ^ rotate(b, 8)) | 0;
  b = (b + a) | 0;
  a = ((a - c) ^ rotate(c, 16)) | 0;
  c = (c + b) | 0;
  b = ((b - a) ^ rotate(a, 19)) | 0;
  a = (a + c) | 0;
  c = ((c - b) ^ rotate(b, 4)) | 0;
  b = (b + a) | 0;
  a = (a + bytes.readInt32LE(12)) | 0;
  for (const [turn, bits] of [14, 11, 25, 16, 4, 14, 24].entries()) {
    if (turn % 3 === 0) c = ((c ^ b) - rotate(b, bits)) | 0;
    else if (turn % 3 === 1) a = ((a ^ c) - rotate(c, bits)) | 0;
    else b = ((b ^ a) - rotate(a, bits)) | 0;
  }
  return c;
}
