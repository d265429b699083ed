import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { boundBodies } from '../../services/platform/http/body.ts';

let app: FastifyInstance;
let port: number;
/** Chunks handed over, of all requests. */
let chunks: number;
beforeEach(async () => {
  chunks = 0;
  app = Fastify();
  boundBodies(app);
  const count = () => {
    chunks += 1;
  };
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers['x-key'] !== undefined) return;
    request.raw.on('data', count);
    await reply.code(401).send();
  });
  app.addHook('preParsing', (_request, _reply, payload, done) => {
    payload.on('data', count);
    done(null, payload);
  });
  app.post('/', (request) => ({ length: JSON.stringify(request.body).length }));
  port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
});
afterEach(() => app.close());

/** All that is answered until the connection ends. The body comes in one segment. */
async function post(headers: string, body: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  let answer = '';
  socket.on('data', (data) => {
    answer += String(data);
  });
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}Transfer-Encoding: chunked\r\n\r\n${body}`,
  );
  await once(socket, 'close');
  return answer;
}

const ofBytes = (count: number) => `2\r\n["\r\n${'1\r\na\r\n'.repeat(count - 2)}2\r\n"]\r\n0\r\n\r\n`;

describe('the chunks of a body', () => {
  test('that is not read are handed over up to 300, then no more of those that came with them', async () => {
    expect(await post('', ofBytes(300))).toMatch(/^HTTP\/1.1 401 /);
    expect(chunks).toBe(300);
    chunks = 0;
    await post('', ofBytes(5000));
    expect(chunks).toBe(301);
  });

  test('that is read are handed over up to 2,000, then no more of those that came with them', async () => {
    expect(await post('x-key: a\r\n', ofBytes(2000))).toMatch(/^HTTP\/1.1 200 /);
    expect(chunks).toBe(2000);
    chunks = 0;
    expect(await post('x-key: a\r\n', ofBytes(5000))).toMatch(/^HTTP\/1.1 400 /);
    expect(chunks).toBe(2001);
  });

  test('of later connections are all handed over', async () => {
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([post('', ofBytes(5000)), post('x-key: a\r\n', ofBytes(5000))]);
      expect(await post('x-key: a\r\n', ofBytes(1000))).toMatch(/\{"length":1002\}$/);
    }
  });
});
