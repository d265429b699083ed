// Writes protobuf messages straight into one buffer. protobufjs's own writer keeps an object for every number and text until
// the length of all is known: for a list of 20 materials 60 KB of them, and most of the time that writing it took.
import protobuf from 'protobufjs';

const INITIAL_BYTES = 64 * 1024;
/** A message larger than this gets a buffer of its own, and leaves with it. */
const KEPT_BYTES = 1024 * 1024;
const TWO_TO_32 = 2 ** 32;
const MAX_VARINT_BYTES = 10;
const MAX_BYTES_OF_UTF16_UNIT = 3;
/** Up to this length a loop is faster than a call into native code; its bytes are counted by one byte. */
const SHORT_TEXT = 42;

type Write<T> = (value: T, buffer: Uint8Array, position: number) => void;

/** One message after the other: `reset` begins the next. All that is not here is inherited, and ends up in `_push`. */
class OneBufferWriter extends protobuf.BufferWriter {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  /** Of the messages within messages that are not ended yet: where their lengths will stand. */
  #begun: number[] = [];
  /** How many bytes the length took of the last message that ended at each depth: the next one's most likely does too. */
  #lengthBytes: number[] = [];

  override reset(): this {
    this.len = 0;
    this.#begun.length = 0;
    return this;
  }

  /** By which protobufjs writes whatever is neither a small number nor text. */
  _push<T>(write: Write<T>, bytes: number, value: T): this {
    this.#makeRoom(bytes);
    write(value, this.#buffer, this.len);
    this.len += bytes;
    return this;
  }

  override uint32(value: number): this {
    this.#makeRoom(MAX_VARINT_BYTES);
    this.len = writeVarint(this.#buffer, this.len, value >>> 0);
    return this;
  }

  /** Seconds of an instant, mostly; others by way of protobufjs's own halves of 64 bits. */
  override int64(value: Parameters<protobuf.Writer['int64']>[0]): protobuf.Writer {
    if (!Number.isSafeInteger(value) || (value as number) < 0) return super.int64(value);
    this.#makeRoom(MAX_VARINT_BYTES);
    this.len = writeVarint(this.#buffer, this.len, value as number);
    return this;
  }

  override string(text: string): this {
    this.#makeRoom(MAX_VARINT_BYTES + MAX_BYTES_OF_UTF16_UNIT * text.length);
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
    this.#makeRoom(MAX_VARINT_BYTES);
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

  /** Puts a length where room was kept for it before what it is the length of, which moves if the room does not fit. */
  #endLength(begun: number, reserved: number): this {
    const bytes = this.len - begun - reserved;
    const needed = bytesOfVarint(bytes);
    if (needed !== reserved) {
      this.#makeRoom(MAX_VARINT_BYTES);
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

  #makeRoom(bytes: number): void {
    const needed = this.len + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.len);
    this.#buffer = larger;
  }
}

/** For all messages that this process writes: a message is written in one turn, so one writer serves all. */
export function writeIntoOneBuffer(): void {
  const writer = new OneBufferWriter();
  protobuf.Writer.create = () => writer.reset();
}

/** Seven bits to a byte, the lowest first, of a whole number up to 2^53. Where the next byte goes. */
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

/** Where the next byte goes; undefined where `text` is not all ASCII. */
function writeAscii(buffer: Uint8Array, position: number, text: string): number | undefined {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 127) return undefined;
    buffer[position + index] = unit;
  }
  return position + text.length;
}
