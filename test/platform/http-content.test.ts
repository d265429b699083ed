// How the files of pages are sent: compressed, with a tag, and not again to who has them.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageFile, servePages } from '../../services/platform/http/pages.ts';

beforeAll(prepare);
afterAll(() => app.close());

test.each(['/file', '/text'])('%s is sent in the best encoding that is taken', async (url) => {
  const plain = await get(url);
  expect(plain.headers).toMatchObject({ ...HEADERS, vary: 'Origin, accept-encoding' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers['content-type']).toMatch(/^text\/(css|html); charset=utf-8$/i);
  for (const [accepted, encoding, decode] of [
    ['gzip, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
  ] as const) {
    const { headers, rawPayload } = await get(url, { 'accept-encoding': accepted });
    expect([headers['content-encoding'], headers.vary]).toEqual([encoding, 'Origin, accept-encoding']);
    expect(decode(rawPayload).equals(plain.rawPayload)).toBe(true);
    expect(rawPayload.length).toBeLessThan(plain.rawPayload.length);
  }
});

test.each(['/file', '/text'])('%s is not sent again to who has it', async (url) => {
  const known = String((await get(url)).headers.etag);
  for (const encoding of ['br', 'identity']) {
    const again = await get(url, { 'if-none-match': known, 'accept-encoding': encoding });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect(again.headers).toMatchObject({ etag: known, ...HEADERS });
  }
  expect((await get(url, { 'if-none-match': '"other"' })).statusCode).toBe(200);
});

test.each(['/file', '/text'])('%s has no body for HEAD', async (url) => {
  const { statusCode, body, headers } = await get(url, { 'accept-encoding': 'gzip' }, 'HEAD');
  expect([statusCode, body, headers['content-security-policy']]).toEqual([200, '', "default-src 'none'"]);
});

test('a package that is not installed is named', () => {
  expect(() => packageFile('not-there-at-all', 'x.js')).toThrow('not-there-at-all');
});

const TEXT = 'a'.repeat(5000);
const HEADERS = { 'content-security-policy': "default-src 'none'", 'cache-control': 'no-cache' };
let app: FastifyInstance;

function prepare(): void {
  app = Fastify({ exposeHeadRoutes: true });
  // As where other origins may call.
  app.addHook('onRequest', async (_request, reply) => void reply.header('vary', 'Origin'));
  servePages(
    app,
    {
      '/file': packageFile('graphiql', 'graphiql.min.css'),
      '/text': { type: 'text/html; charset=utf-8', text: () => TEXT },
    },
    HEADERS,
  );
}

const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url, headers });
