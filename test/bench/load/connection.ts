// One keep-alive HTTP/1.1 connection that reads as little of an answer as it must: the generator has to be cheap.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Connection = { send(request: string): void; close(): void };

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** What any of the connections reads, one read at a time: none keeps it beyond that. */
const READ = Buffer.alloc(64 * 1024);

/** `onAnswer` is called once per request sent, with its status; a connection that is lost answers with 0. */
export async function openConnection(port: number, onAnswer: (status: number) => void): Promise<Connection> {
  const onread = { buffer: READ, callback: (length: number) => read(READ.subarray(0, length)) };
  const socket: Socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
  let head: Buffer = Buffer.alloc(0);
  let status = 0;
  /** Bytes of the body still to come; -1: the head is not complete; Infinity: until the last chunk. */
  let missing = -1;
  let waiting = false;
  const finish = (answered: number) => {
    if (!waiting) return;
    waiting = false;
    missing = -1;
    onAnswer(answered);
  };
  const read = (chunk: Buffer): boolean => {
    let body = chunk;
    if (missing < 0) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const end = head.indexOf(HEAD_END);
      if (end < 0) {
        head = Buffer.from(head);
        return true;
      }
      const text = head.toString('latin1', 0, end);
      status = Number(text.slice(9, 12));
      const [, length] = /\r\ncontent-length: *(\d+)/i.exec(text) ?? [];
      missing = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
      body = head.subarray(end + 4);
      head = Buffer.alloc(0);
    }
    missing -= body.length;
    const isLast = missing === Number.POSITIVE_INFINITY && body.subarray(-5).equals(LAST_CHUNK);
    if (missing === 0 || isLast) finish(status);
    return true;
  };
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.on('close', () => finish(0));
  return {
    send(request) {
      waiting = true;
      if (socket.destroyed) queueMicrotask(() => finish(0));
      else socket.write(request);
    },
    close: () => socket.destroy(),
  };
}
