// Which bodies are sent compressed, in which encoding, and which are not sent again.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAsset, serveAssets } from '../../services/platform/http/content/asset.ts';
import { registerCompression } from '../../services/platform/http/content/compression.ts';
import { matchesTag } from '../../services/platform/http/content/entity-tag.ts';
import { readPackageFile } from '../../services/platform/http/content/package-file.ts';

let app: FastifyInstance;
/** Where requests wait for each other, so that they are answered in one turn of the event loop. */
let meeting: ReturnType<typeof meetingOf>;
function meetingOf(count: number) {
  const { promise: all, resolve } = Promise.withResolvers<void>();
  let left = count;
  const come = () => {
    left -= 1;
    if (left === 0) resolve();
  };
  return { all, come };
}
beforeAll(async () => {
  app = Fastify();
  registerCompression(app);
  app.get<{ Params: { bytes: string } }>('/text/:bytes', async ({ params: { bytes } }) =>
    'x'.repeat(Number(bytes)),
  );
  app.get<{ Params: { bytes: string } }>('/wide/:bytes', async ({ params: { bytes } }) =>
    'é'.repeat(Number(bytes) / 2),
  );
  app.get('/buffer', async () => Buffer.alloc(2048));
  app.get('/varied', async (_request, reply) => reply.header('vary', 'origin').send('x'.repeat(2048)));
  app.get('/together', async () => {
    meeting.come();
    await meeting.all;
    return 'x'.repeat(2048);
  });
  const files = [
    ['/asset', createAsset('text/css', Buffer.from('a'.repeat(5000)))],
    ['/other', createAsset('text/css', Buffer.from('b'))],
  ] as const;
  serveAssets(app, files, { 'content-security-policy': "default-src 'none'", 'cache-control': 'no-cache' });
});
afterAll(() => app.close());

async function get(path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const { statusCode, headers: sent, rawPayload } = await app.inject({ method, url: path, headers });
  return { status: statusCode, encoding: sent['content-encoding'], vary: sent.vary, sent, body: rawPayload };
}
const zipped = { 'accept-encoding': 'gzip' };

describe('a response', () => {
  test.each([
    ['/text/1023', undefined, undefined],
    ['/text/1024', 'gzip', 'accept-encoding'],
    ['/wide/1024', 'gzip', 'accept-encoding'],
    ['/text/1048576', 'gzip', 'accept-encoding'],
    ['/text/1048577', undefined, 'accept-encoding'],
    ['/wide/1048578', undefined, 'accept-encoding'],
    ['/buffer', 'gzip', 'accept-encoding'],
    ['/varied', 'gzip', 'origin, accept-encoding'],
  ])('at %s is sent as %s, and varies by %s', async (path, encoding, vary) => {
    const answer = await get(path, zipped);
    expect([answer.encoding, answer.vary]).toEqual([encoding, vary]);
    const plain = await get(path);
    expect([plain.encoding, plain.vary]).toEqual([undefined, vary]);
    const body = encoding === undefined ? answer.body : gunzipSync(answer.body);
    expect(body.equals(plain.body)).toBe(true);
  });

  test('is compressed while fewer than two others are, and each makes room', async () => {
    for (const round of [1, 2, 3]) {
      meeting = meetingOf(5);
      const answers = await Promise.all(Array.from({ length: 5 }, () => get('/together', zipped)));
      const encodings = answers.map(({ encoding }) => encoding);
      expect(encodings.filter((encoding) => encoding === 'gzip').length, `round ${round}`).toBe(2);
    }
    expect((await get('/text/2000', zipped)).encoding).toBe('gzip');
  });

  test('to HEAD is not compressed, since nobody reads it', async () => {
    const answer = await get('/text/2000', zipped, 'HEAD');
    expect([answer.encoding, answer.vary, answer.sent['content-length']]).toEqual([
      undefined,
      'accept-encoding',
      '2000',
    ]);
  });

  test.each([
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br, gzip;q=0.5', 'gzip'],
    ['gzip;q=0.01', 'gzip'],
    ['gzip ; q=1.0', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip; q=0.000 ', undefined],
    ['br', undefined],
    ['xgzip', undefined],
    ['', undefined],
  ])('for Accept-Encoding "%s" is sent as %s', async (accepted, encoding) => {
    expect((await get('/text/2000', { 'accept-encoding': accepted })).encoding).toBe(encoding);
  });
});

describe('a file', () => {
  test('is sent in the best encoding that is taken, each with a tag of its own', async () => {
    const answers = [];
    for (const accepted of ['gzip, br', 'gzip', 'deflate'])
      answers.push(await get('/asset', { 'accept-encoding': accepted }));
    expect(answers.map(({ encoding }) => encoding)).toEqual(['br', 'gzip', undefined]);
    expect(answers.map(({ sent }) => String(sent.etag).split('-')[1])).toEqual(['br"', 'gzip"', 'identity"']);
    expect(answers.map(({ vary }) => vary)).toEqual(Array(3).fill('accept-encoding'));
    const [br, gzip, plain] = answers.map(({ body }) => body);
    expect(plain?.toString()).toBe('a'.repeat(5000));
    expect(brotliDecompressSync(br ?? '').toString()).toBe('a'.repeat(5000));
    expect(gunzipSync(gzip ?? '').toString()).toBe('a'.repeat(5000));
    expect(answers[2]?.sent).toMatchObject({
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-cache',
    });
    expect(answers[2]?.sent['content-type']).toBe('text/css');
  });

  test('is not sent again to who has it, in that encoding', async () => {
    const tag = String((await get('/asset', zipped)).sent.etag);
    const again = async (known: string, accepted = 'gzip') =>
      (await get('/asset', { 'accept-encoding': accepted, 'if-none-match': known })).status;
    for (const known of [tag, `W/${tag}`, `"a", ${tag} , "b"`, ' * '])
      expect(await again(known), known).toBe(304);
    for (const known of [tag.replaceAll('"', ''), '"x"', '', `"x${tag.slice(1)}`, `"a, *"`])
      expect(await again(known), known).toBe(200);
    expect(await again(tag, 'br')).toBe(200);
    expect(matchesTag('"aW/b"', '"ab"')).toBe(false);
  });

  test.each(['gzip', 'identity'])(
    'has the same length for HEAD in %s, whether or not it is sent again',
    async (encoding) => {
      const ask = async (known: string, method: 'GET' | 'HEAD') =>
        await get('/asset', { 'accept-encoding': encoding, 'if-none-match': known }, method);
      const sent = await ask('"x"', 'GET');
      const lengths = [`${sent.body.length}`, `${sent.body.length}`, undefined];
      const answers = [await ask('"x"', 'HEAD'), await ask('*', 'HEAD'), await ask('*', 'GET')];
      expect(answers.map(({ status, body }) => [status, body.length])).toEqual([
        [200, 0],
        [304, 0],
        [304, 0],
      ]);
      expect(answers.map(({ sent }) => sent['content-length'])).toEqual(lengths);
    },
  );

  test('is told from others by sixteen digits, and compressed once', async () => {
    const tags = [];
    for (const path of ['/asset', '/other']) tags.push(String((await get(path)).sent.etag));
    for (const tag of tags) expect(tag).toMatch(/^"[0-9a-f]{16}-identity"$/);
    expect(tags[0]).not.toBe(tags[1]);
    const asset = createAsset('text/css', Buffer.from('a'));
    expect(await asset.bodyIn('gzip')).toBe(await asset.bodyIn('gzip'));
  });

  test('of a package is read whether or not it is exported, and one that is not installed is named', () => {
    expect(JSON.parse(readPackageFile('chart.js', 'package.json').toString())).toMatchObject({
      name: 'chart.js',
    });
    expect(() => readPackageFile('not-there-at-all', 'x.js')).toThrow('not-there-at-all');
  });
});
