// Bounds the chunks of a body and the bytes of an unread body: each chunk costs a turn of the event loop.
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { cutOff } from './connections.ts';

/** A body of 256 KiB in TCP segments arrives in fewer than 300. */
const MAX_CHUNKS = 2000;
/** A refused request can still send a body of legal size and read the response. */
const MAX_UNREAD = { chunks: 300, bytes: 512 * 1024 };

/** Refuses a body in more chunks (400, field body). Cuts off a client that keeps sending an unread body. */
export function boundBodies(app: FastifyInstance): void {
  const read = new WeakSet<FastifyRequest>();
  app.addHook('preParsing', (request, reply, payload, done) => {
    read.add(request);
    let chunks = 0;
    const count = () => {
      chunks += 1;
      if (chunks <= MAX_CHUNKS) return;
      payload.off('data', count);
      reply.header('connection', 'close');
      payload.emit('error', invalidRequest('body', `The body must come in at most ${MAX_CHUNKS} chunks.`));
      skipChunks(request.raw.socket);
    };
    payload.on('data', count);
    done(null, payload);
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    if (hasBody(request) && !read.has(request)) dropBody(request);
    done();
  });
}

const hasBody = ({ headers, raw }: FastifyRequest): boolean =>
  !raw.complete && ('content-length' in headers || 'transfer-encoding' in headers);

function dropBody({ raw }: FastifyRequest): void {
  let [chunks, bytes] = [0, 0];
  const drop = (chunk: Buffer) => {
    chunks += 1;
    bytes += chunk.length;
    if (chunks <= MAX_UNREAD.chunks && bytes <= MAX_UNREAD.bytes) return;
    raw.off('data', drop).pause();
    cutOff(raw.socket);
    skipChunks(raw.socket);
  };
  raw.on('data', drop);
}

/**
 * Skips what Node has already read of a body that nobody needs. Node reads up to 64 KiB at once, which can be 10,900 chunks, and
 * hands over each of them even after the connection is cut off. There is no public way to stop it, so its parser loses the
 * function that it calls for each chunk until all that was read is parsed; then the parser serves other connections.
 */
function skipChunks(socket: Socket): void {
  const { parser } = socket as { parser?: Record<string, unknown> | null };
  const [name, handOver] =
    Object.entries(parser ?? {}).find(
      ([, value]) => typeof value === 'function' && value.name === 'parserOnBody',
    ) ?? [];
  if (!parser || name === undefined) return;
  parser[name] = undefined;
  setImmediate(() => {
    parser[name] = handOver;
  });
}
