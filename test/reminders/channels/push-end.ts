// A push service of RFC 8030 on loopback, and the browser behind it, which decrypts with an implementation of its own.
import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Certificates } from '../../support/certificates.ts';

const ece: { decrypt(body: Buffer, options: object): Buffer } = createRequire(import.meta.url)('http_ece');

/** A browser that has subscribed. */
export function createBrowser() {
  const privateKey = createECDH('prime256v1');
  const p256dh = privateKey.generateKeys('base64url');
  const auth = randomBytes(16).toString('base64url');
  return {
    keys: { p256dh, auth },
    read: (body: Buffer): unknown =>
      JSON.parse(ece.decrypt(body, { version: 'aes128gcm', privateKey, authSecret: auth }).toString()),
  };
}

export type PushRequest = {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage['headers'];
  body: Buffer;
};

/** `answer` is called after the request has been received. */
export async function startPushEnd(
  { environment }: Certificates,
  answer: RequestListener = (_request, response) => response.writeHead(201).end(),
  { host = '127.0.0.1', port = 0 } = {},
) {
  const received: PushRequest[] = [];
  let connections = 0;
  const [cert, key] = [environment.GRPC_TLS_CERT, environment.GRPC_TLS_KEY].map((path) => readFileSync(path));
  const server = createServer({ cert, key }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url: path, headers } = request;
    received.push({ method, path, headers, body: Buffer.concat(chunks) });
    answer(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    origin: `https://127.0.0.1:${address.port}`,
    received,
    connections: () => connections,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
