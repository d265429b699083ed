// The hostile client, a process of its own: makes the attack that it is sent over IPC until it is told to stop.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { loadProto, serviceDefinition } from '../../../services/platform/protobuf/load.ts';
import { type Attack, type Facts, toMessage, toRequest } from './attack.ts';

export type AttackOrder = { attack: Attack; facts: Facts; connections: number } | 'stop';

/** Requests that differ are made before the attack begins, so many: to make one costs more than to send it. */
const VARIANTS = 500;
let isRunning = false;
const ending: (() => void)[] = [];

process.on('message', (order: AttackOrder) => {
  if (order === 'stop') {
    isRunning = false;
    for (const end of ending.splice(0)) end();
    process.send?.('stopped');
    return;
  }
  isRunning = true;
  const { attack, facts, connections } = order;
  const one = attack.rpc === undefined ? httpConnections(attack, facts) : rpcConnections(attack, facts);
  process.send?.('started');
  for (let index = 0; index < connections; index += 1) void again(one);
});
process.on('disconnect', () => process.exit(0));

async function again(connection: () => Promise<void>): Promise<void> {
  while (isRunning) {
    await connection().catch(() => {});
    // Who is cut off or refused comes back at once, but not in a loop that leaves no turn to anything else.
    await sleep(1);
  }
}

/** A connection from its beginning to its end. */
function httpConnections(attack: Attack, facts: Facts): () => Promise<void> {
  const differs = JSON.stringify(attack).includes('"unique"') || attack.as === 'unknown key';
  const variants = Array.from({ length: differs ? VARIANTS : 1 }, () => toRequest(attack, facts));
  let next = 0;
  const take = () => variants[next++ % variants.length] ?? Buffer.alloc(0);
  const port = facts.ports[attack.to];
  return async () => {
    // The others have the address 127.0.0.1.
    const socket = connect({ host: '127.0.0.1', localAddress: '127.0.0.2', port, noDelay: true });
    const end = () => socket.destroy();
    ending.push(end);
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    await Promise.race([once(socket, 'connect'), closed]);
    if (!socket.destroyed) await use(socket, attack, take);
    await closed;
    ending.splice(ending.indexOf(end), 1);
  };
}

async function use(socket: Socket, attack: Attack, take: () => Buffer): Promise<void> {
  const { pipelined = 1, reads = true, answered = true, reconnects, hangsUpAfterMs, bytesASecond } = attack;
  if (bytesASecond !== undefined) return drip(socket, take(), bytesASecond);
  if (!reads) socket.pause();
  for (let count = 0; count < pipelined; count += 1) socket.write(take());
  if (hangsUpAfterMs !== undefined) {
    await sleep(hangsUpAfterMs);
    socket.destroy();
  } else if (reads && answered) {
    onEachAnswer(socket, () => {
      if (reconnects || !isRunning) socket.destroy();
      else socket.write(take());
    });
  }
}

async function drip(socket: Socket, request: Buffer, bytesASecond: number): Promise<void> {
  socket.resume();
  const slow = Math.max(request.length - 4000, 0);
  socket.write(request.subarray(0, slow));
  for (let at = slow; at < request.length && !socket.destroyed && isRunning; at += 1) {
    socket.write(request.subarray(at, at + 1));
    await sleep(1000 / bytesASecond);
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** Finds where each answer on the connection ends. */
function onEachAnswer(socket: Socket, onAnswer: () => void): void {
  let head: Buffer = Buffer.alloc(0);
  let missing = -1;
  socket.on('data', (chunk: Buffer) => {
    let rest: Buffer = chunk;
    while (rest.length > 0 && !socket.destroyed) {
      if (missing < 0) {
        head = Buffer.concat([head, rest]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head.toString('latin1', 0, end)) ?? [];
        missing = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
        rest = head.subarray(end + HEAD_END.length);
        head = Buffer.alloc(0);
      }
      const taken = Math.min(missing, rest.length);
      const isLast =
        missing === Number.POSITIVE_INFINITY && rest.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
      missing -= taken;
      rest = rest.subarray(taken);
      if (missing !== 0 && !isLast) continue;
      missing = -1;
      onAnswer();
    }
  });
}

const LONG_MS = 60_000;

/** A channel of its own with so many calls under way. */
function rpcConnections(attack: Attack, facts: Facts): () => Promise<void> {
  const { method: path = '', request = {} } = attack.rpc ?? {};
  const [service = '', name = ''] = path.split('/');
  const packageName = service.slice(0, service.lastIndexOf('.'));
  const method = serviceDefinition(loadProto(packageName), service)[name];
  if (method === undefined) throw new Error(`there is no ${path}`);
  const { pipelined = 1, reads = true } = attack;
  const isStream = method.responseStream;
  return async () => {
    const client = new Client(`127.0.0.1:${facts.ports[attack.to]}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
    });
    ending.push(() => client.close());
    const call = () =>
      new Promise<void>((resolve) => {
        const message = toMessage(request, facts);
        const done = () => resolve();
        const { requestSerialize, responseDeserialize } = method;
        const options = { deadline: Date.now() + LONG_MS };
        if (!isStream) {
          const args = [method.path, requestSerialize, responseDeserialize, message] as const;
          client.makeUnaryRequest(...args, new Metadata(), options, done);
          return;
        }
        const args = [method.path, requestSerialize, responseDeserialize, message] as const;
        const stream = client.makeServerStreamRequest(...args, new Metadata(), options);
        stream.on('error', done).on('end', done);
        if (reads) stream.on('data', () => {});
        else stream.pause();
      });
    const calls = Array.from({ length: pipelined }, async () => {
      while (isRunning) {
        await call();
        await sleep(1);
      }
    });
    await Promise.all(calls);
    client.close();
  };
}
