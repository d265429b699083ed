// Writes protobuf messages directly into one buffer. protobufjs's own writer allocates an object per value until all lengths are
// known: 60 KB for a list of 20 materials, and most of the time to serialize it.
import protobuf from 'protobufjs';

const INITIAL_BYTES = 64 * 1024;
/** A larger message gets a new buffer, which is not kept. */
const KEPT_BYTES = 1024 * 1024;
const TWO_TO_32 = 2 ** 32;
const MAX_VARINT_BYTES = 10;
const MAX_BYTES_OF_UTF16_UNIT = 3;
/** Up to this length a loop is faster than native code, and the length takes one byte. */
const SHORT_TEXT = 42;

type Write<T> = (value: T, buffer: Uint8Array, position: number) => void;

/** Writes one message at a time; `reset` begins the next. Inherited methods call `_push`. */
class OneBufferWriter extends protobuf.BufferWriter {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  /** Offsets of the lengths of nested messages that are still open. */
  #begun: number[] = [];
  /** Bytes of the last length at each nesting depth, as a prediction for the next. */
  #lengthBytes: number[] = [];

  override reset(): this {
    this.len = 0;
    this.#begun.length = 0;
    return this;
  }

  /** protobufjs's hook for all values other than small numbers and text. */
  _push<T>(write: Write<T>, bytes: number, value: T): this {
    this.#ensureCapacity(bytes);
    write(value, this.#buffer, this.len);
    this.len += bytes;
    return this;
  }

  override uint32(value: number): this {
    this.#ensureCapacity(MAX_VARINT_BYTES);
    this.len = writeVarint(this.#buffer, this.len, value >>> 0);
    return this;
  }

  /** Fast path for the seconds of timestamps; larger values use protobufjs's 64-bit code. */
  override int64(value: Parameters<protobuf.Writer['int64']>[0]): protobuf.Writer {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return super.int64(value);
    this.#ensureCapacity(MAX_VARINT_BYTES);
    this.len = writeVarint(this.#buffer, this.len, value);
    return this;
  }

  override string(text: string): this {
    this.#ensureCapacity(MAX_VARINT_BYTES + MAX_BYTES_OF_UTF16_UNIT * text.length);
    const buffer = this.#buffer;
    if (text.length <= SHORT_TEXT) {
      const end = writeAscii(buffer, this.len + 1, text);
      const bytes = end === undefined ? buffer.write(text, this.len + 1) : text.length;
      buffer[this.len] = bytes;
      this.len += 1 + bytes;
      return this;
    }
    const begun = this.len;
    const reserved = bytesOfVarint(text.length);
    this.len += reserved + buffer.write(text, begun + reserved);
    return this.#endLength(begun, reserved);
  }

  override fork(): this {
    this.#ensureCapacity(MAX_VARINT_BYTES);
    this.#begun.push(this.len);
    this.len += this.#lengthBytes[this.#begun.length] ?? 1;
    return this;
  }

  override ldelim(): this {
    const depth = this.#begun.length;
    const begun = this.#begun.pop() ?? 0;
    const reserved = this.#lengthBytes[depth] ?? 1;
    this.#lengthBytes[depth] = bytesOfVarint(this.len - begun - reserved);
    return this.#endLength(begun, reserved);
  }

  /** Writes the length of a nested message into the space reserved before it; moves the message if the space does not fit. */
  #endLength(begun: number, reserved: number): this {
    const bytes = this.len - begun - reserved;
    const needed = bytesOfVarint(bytes);
    if (needed !== reserved) {
      this.#ensureCapacity(MAX_VARINT_BYTES);
      this.#buffer.copyWithin(begun + needed, begun + reserved, this.len);
      this.len += needed - reserved;
    }
    writeVarint(this.#buffer, begun, bytes);
    return this;
  }

  override finish(): Buffer {
    const written = this.#buffer.subarray(0, this.len);
    if (this.#buffer.length <= KEPT_BYTES) return Buffer.from(written);
    this.#buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    return written;
  }

  #ensureCapacity(bytes: number): void {
    const needed = this.len + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.len);
    this.#buffer = larger;
  }
}

/** Shared by the whole process: serialization is synchronous. */
export function writeIntoOneBuffer(): void {
  const writer = new OneBufferWriter();
  protobuf.Writer.create = () => writer.reset();
}

/** Writes an unsigned varint up to 2^53. @returns the offset after it. */
function writeVarint(buffer: Uint8Array, position: number, value: number): number {
  let at = position;
  let rest = value;
  for (; rest >= TWO_TO_32; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) | 128;
  for (; rest > 127; rest >>>= 7) buffer[at++] = (rest & 127) | 128;
  buffer[at++] = rest;
  return at;
}

function bytesOfVarint(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 127; rest >>>= 7) bytes += 1;
  return bytes;
}

/** @returns the offset after the text; undefined if it is not all ASCII. */
function writeAscii(buffer: Uint8Array, position: number, text: string): number | undefined {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 127) return undefined;
    buffer[position + index] = unit;
  }
  return position + text.length;
}
