// Bounds what waits for gRPC clients that do not read: the time of each message, the bytes of each connection.
import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import {
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type StatusObject,
} from '@grpc/grpc-js';
import type { Logger } from './logger.ts';

export type UntakenBounds = {
  /** A stream whose client takes no message for so long is cut; default 10,000. */
  untakenMs?: number;
  /** Beyond so many bytes the next message on the same connection is refused; default 256 MiB, four of the largest. */
  untakenBytes?: number;
};

type Untaken = {
  path: string;
  stream: ServerHttp2Stream;
  session: Http2Session;
  bytes: number;
  sinceMs: number;
  isCut: boolean;
};

/** Has to be the first interceptor. `refusal` answers what there is no room for. */
export function boundUntaken(
  { untakenMs = 10_000, untakenBytes = 256 * 1024 * 1024 }: UntakenBounds,
  { logger, refusal }: { logger: Logger; refusal: StatusObject },
): { interceptor: ServerInterceptor; close(): void } {
  const all = new Set<Untaken>();
  const bytesOf = new WeakMap<Http2Session, number>();
  const count = (session: Http2Session, bytes: number) =>
    bytesOf.set(session, (bytesOf.get(session) ?? 0) + bytes);
  const settle = (untaken: Untaken) => {
    if (all.delete(untaken)) count(untaken.session, -untaken.bytes);
  };
  const sweep = () => {
    for (const untaken of all) {
      if (untaken.stream.destroyed) settle(untaken);
      else if (performance.now() - untaken.sinceMs > untakenMs) cut(untaken, logger);
    }
  };
  const hasRoom = (session: Http2Session) => (bytesOf.get(session) ?? 0) < untakenBytes;
  const timer = setInterval(sweep, untakenMs / 10).unref();

  /** `send` writes to the stream and is told when the client has taken it. */
  const watch = (path: string, stream: ServerHttp2Stream, send: (taken: () => void) => void) => {
    const { session, writableLength } = stream;
    if (session === undefined) return true;
    // What clients left behind is counted until it is swept.
    if (!hasRoom(session)) sweep();
    if (!hasRoom(session)) return false;
    const untaken = { path, stream, session, bytes: 0, sinceMs: performance.now(), isCut: false };
    all.add(untaken);
    send(() => settle(untaken));
    untaken.bytes = stream.writableLength - writableLength;
    count(session, untaken.bytes);
    return true;
  };
  const refuse = (path: string, call: ServerInterceptingCallInterface) => {
    logger.warn({ rpc: path }, 'answer refused: its client does not take those before it');
    call.sendStatus(refusal);
  };
  return {
    interceptor: ({ path }, call) => new WatchedCall(call, { path, watch, refuse }),
    close: () => clearInterval(timer),
  };
}

/** Where not even the reset of a stream gets through, the connection is cut at the next look. */
function cut(untaken: Untaken, logger: Logger): void {
  const { path, stream, session, isCut } = untaken;
  untaken.isCut = true;
  logger.warn(
    { rpc: path },
    `${isCut ? 'connection' : 'stream'} cut: its client does not take what it is sent`,
  );
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
    // The library keeps the stream to itself, and has no other way to reset it.
    const { stream } = this.#call as unknown as { stream: ServerHttp2Stream };
    const send = (settle: () => void) =>
      super.sendMessage(message, () => {
        settle();
        taken();
      });
    if (!watch(path, stream, send)) refuse(path, this.#call);
  }
}
