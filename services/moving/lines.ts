// The beginning of a file, and the lines of a text file, one at a time, within bounds.
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { unreadable } from './unreadable.ts';

/**
 * The lines of the UTF-8 file at `path` without their ends; a byte order mark is dropped.
 * @throws INVALID_REQUEST with the line's number for a longer one, and for what is not UTF-8.
 */
export async function* readLines(path: string, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let number = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const finish = (last: Buffer): string => {
    number += 1;
    const bytes = pending.length === 0 ? last : Buffer.concat([...pending, last]);
    pending = [];
    pendingBytes = 0;
    try {
      const line = decoder.decode(bytes);
      return number === 1 && line.startsWith('\ufeff') ? line.slice(1) : line;
    } catch (error) {
      throw unreadable(`Line ${number} is not UTF-8. Save the file as UTF-8, then import it again.`, error);
    }
  };
  const hold = (part: Buffer) => {
    if (part.length === 0) return;
    pending.push(part);
    pendingBytes += part.length;
    if (pendingBytes > maxBytes)
      throw unreadable(`Line ${number + 1} is longer than ${maxBytes.toLocaleString('en')} bytes.`);
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
      const line = finish(chunk.subarray(from, to));
      yield line.endsWith('\r') ? line.slice(0, -1) : line;
      from = to + 1;
    }
    hold(chunk.subarray(from));
  }
  if (pendingBytes > 0) yield finish(Buffer.alloc(0));
}

/** The first `length` bytes of the file at `path`, or all where it has fewer. */
export async function firstBytes(path: string, length: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
