import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

describe('every page', () => {
  test.each([
    ['REST', '/docs'],
    ['REST', '/docs/static/page.js'],
    ['gateway', '/'],
  ])(
    'of %s at %s may be framed by nobody, loads from nowhere else, and sets no cookie',
    async (server, path) => {
      const origin = server === 'REST' ? here.origins[0] : gateway.origin;
      const { status, headers } = await fetch(origin + path);
      expect(status).toBe(200);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/^default-src '(self|none)'/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('set-cookie')).toBeNull();
    },
  );

  test.each([
    ['REST', '/v1/me'],
    ['REST', '/v1/nothing'],
    ['REST', '/v1/%zz'],
    ['gateway', '/graphql'],
  ])('and no answer of %s at %s is kept on its way', async (server, path) => {
    const origin = server === 'REST' ? here.origins[0] : gateway.origin;
    expect((await fetch(origin + path)).headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['REST', '/v1/me'],
    ['REST', '/openapi.json'],
    ['gateway', '/graphql'],
  ])('and every answer of %s at %s is taken for nothing else, and sets no cookie', async (server, path) => {
    const origin = server === 'REST' ? here.origins[0] : gateway.origin;
    const { headers } = await fetch(origin + path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('set-cookie')).toBeNull();
  });
});

let here: TestSystem;
let gateway: TestGateway;

async function startAll(): Promise<void> {
  here = await startSystem();
  gateway = await startTestGateway(here);
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await here.stop();
}
