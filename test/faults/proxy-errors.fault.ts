// Promise: what HAProxy itself says of a v1 request is in the documented shape, with a status of v1.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { portOf } from '../../services/platform/process/ports.ts';
import { startProxy } from './support/proxy.ts';

/** A replica that dies once it has a request. */
const replica = createServer((socket) => socket.once('data', () => socket.destroy()));
let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  replica.listen(0, '127.0.0.1');
  await once(replica, 'listening');
  const port = portOf(replica);
  proxy = await startProxy({ rest: port, gateway: port, opsPort: port });
});
afterAll(async () => {
  await proxy.stop();
  replica.close();
});

test('a replica that dies over a request is 503, which may be tried again', async () => {
  const answer = await fetch(`http://127.0.0.1:${proxy.ports.rest}/v1/me`);
  expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
    503,
    '1',
    {
      error: {
        code: 'unavailable',
        message: 'The service cannot answer right now. Try again in a moment.',
      },
    },
  ]);
});

test('a body that does not come is 400', async () => {
  const socket = connect(proxy.ports.rest, '127.0.0.1');
  socket.write('POST /v1/materials HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
});
