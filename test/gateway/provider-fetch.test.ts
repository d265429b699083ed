// Answers of an OpenID provider that would cost too much: endless, a bomb, somewhere else.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { fetchFromProvider } from '../../gateway/access/oidc/provider.ts';

afterEach(cleanUp);

test('an answer of 262,144 bytes is read', async () => {
  const address = await serve((_request, response) => void response.end('x'.repeat(262_144)));
  expect(await read(address)).toHaveLength(262_144);
});

test('an endless answer is given up, and its connection closed', async () => {
  let closed = () => {};
  const close = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const address = await serve((_request, response) => {
    const send = () => void (response.write('x'.repeat(16_384)) ? setImmediate(send) : 0);
    response.on('drain', send).on('close', closed);
    send();
  });
  await expect(read(address)).rejects.toThrow('the answer has more than 262144 bytes');
  await close;
});

test('an answer is counted as it is when decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  expect(bomb.length).toBeLessThan(100_000);
  const address = await serve((_request, response) => {
    response.setHeader('content-encoding', 'gzip').end(bomb);
  });
  await expect(read(address)).rejects.toThrow('the answer has more than 262144 bytes');
});

test('a redirect is not followed', async () => {
  const paths: (string | undefined)[] = [];
  const address = await serve(({ url }, response) => {
    paths.push(url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  await expect(read(`${address}/keys`)).rejects.toThrow();
  expect(paths).toEqual(['/keys']);
});

let server: Server;

async function cleanUp(): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const read = async (address: string) => (await fetchFromProvider(address)).text();
