// Writes to standard output what a command was asked for.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorCode } from '../platform/thrown.ts';

/** `output`: a text, or the parts of a long one. Ends without an error where the reader wants no more, as "| head" does. */
export async function print(output: string | AsyncIterable<string | Uint8Array>): Promise<void> {
  const parts = Readable.from(typeof output === 'string' ? [output] : output);
  await pipeline(parts, process.stdout, { end: false }).catch((error: unknown) => {
    if (errorCode(error) !== 'EPIPE') throw error;
  });
}
