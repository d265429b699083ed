// Bounds the responses that gRPC clients have not read: the time of each message, the bytes of each connection.
import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import {
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type StatusObject,
} from '@grpc/grpc-js';
import type { Logger } from '../logging/logger.ts';

export type UnreadLimits = {
  /** A stream is closed after this time without a read by its client; default 10,000. */
  maxUnreadMs?: number;
  /** Unread bytes of a connection beyond which its next message is refused; default 256 MiB, four of the largest messages. */
  maxUnreadBytes?: number;
};

type UnreadResponse = {
  path: string;
  stream: ServerHttp2Stream;
  session: Http2Session;
  bytes: number;
  sinceMs: number;
  isCut: boolean;
};

/** Must be the first interceptor. Calls beyond the byte limit end with the status `refusal`. */
export function limitUnreadResponses(
  { maxUnreadMs = 10_000, maxUnreadBytes = 256 * 1024 * 1024 }: UnreadLimits,
  { logger, refusal }: { logger: Logger; refusal: StatusObject },
): { interceptor: ServerInterceptor; close(): void } {
  const all = new Set<UnreadResponse>();
  const bytesOf = new WeakMap<Http2Session, number>();
  const count = (session: Http2Session, bytes: number) =>
    bytesOf.set(session, (bytesOf.get(session) ?? 0) + bytes);
  const settle = (unread: UnreadResponse) => {
    if (all.delete(unread)) count(unread.session, -unread.bytes);
  };
  const sweep = () => {
    for (const unread of all) {
      if (unread.stream.destroyed) settle(unread);
      else if (performance.now() - unread.sinceMs > maxUnreadMs) cut(unread, logger);
    }
  };
  const hasCapacity = (session: Http2Session) => (bytesOf.get(session) ?? 0) < maxUnreadBytes;
  const timer = setInterval(sweep, maxUnreadMs / 10).unref();

  /** `send` writes to the stream and calls `taken` when the message has been passed on. @returns false if refused. */
  const watch = (path: string, stream: ServerHttp2Stream, send: (taken: () => void) => void) => {
    const { session, writableLength } = stream;
    if (session === undefined) return true;
    // Messages of closed streams count until a sweep removes them.
    if (!hasCapacity(session)) sweep();
    if (!hasCapacity(session)) return false;
    const unread = { path, stream, session, bytes: 0, sinceMs: performance.now(), isCut: false };
    all.add(unread);
    send(() => settle(unread));
    unread.bytes = stream.writableLength - writableLength;
    count(session, unread.bytes);
    return true;
  };
  const refuse = (path: string, call: ServerInterceptingCallInterface) => {
    logger.warn({ rpc: path }, 'response refused: the client does not read earlier responses');
    call.sendStatus(refusal);
  };
  return {
    interceptor: ({ path }, call) => new WatchedCall(call, { path, watch, refuse }),
    close: () => clearInterval(timer),
  };
}

/** If the stream's reset does not get through either, the next sweep closes the connection. */
function cut(unread: UnreadResponse, logger: Logger): void {
  const { path, stream, session, isCut } = unread;
  unread.isCut = true;
  logger.warn({ rpc: path }, `${isCut ? 'connection' : 'stream'} closed: the client does not read`);
  if (isCut) session.destroy();
  else stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

type Watching = {
  path: string;
  watch(path: string, stream: ServerHttp2Stream, send: (taken: () => void) => void): boolean;
  refuse(path: string, call: ServerInterceptingCallInterface): void;
};

class WatchedCall extends ServerInterceptingCall {
  readonly #call: ServerInterceptingCallInterface;
  readonly #watching: Watching;

  constructor(call: ServerInterceptingCallInterface, watching: Watching) {
    super(call);
    this.#call = call;
    this.#watching = watching;
  }

  override sendMessage(message: unknown, taken: () => void): void {
    const { path, watch, refuse } = this.#watching;
    // grpc-js has no public way to reach or reset the stream.
    const { stream } = this.#call as unknown as { stream: ServerHttp2Stream };
    const send = (settle: () => void) =>
      super.sendMessage(message, () => {
        settle();
        taken();
      });
    if (!watch(path, stream, send)) refuse(path, this.#call);
  }
}
