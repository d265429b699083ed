import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect } from 'vitest';
import { ENDPOINTS } from '../contract/spec.ts';
import { type Given, test } from '../fixtures.ts';
import { hasBrowser } from '../support/browser.ts';

test.beforeAll(takeOrigin);

describe('the OpenAPI document', () => {
  beforeAll(prepare);

  test('is valid, of OpenAPI 3.1, and of the version that the contract names', async () => {
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
    expect([document.openapi, document.info.version]).toEqual(['3.1.0', '1.0.0']);
    expect(document.servers).toEqual([{ url: '/v1' }]);
    expect(document.security).toEqual([{ bearer: [] }, { keyHeader: [] }]);
  });

  test('has the seven endpoints and no other, each with its statuses and its scopes', () => {
    const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(listed.toSorted()).toEqual(ENDPOINTS.map(({ method, path }) => `${method} ${path}`).toSorted());
    for (const { method, path, success, errors, scopes } of ENDPOINTS) {
      const { responses = {}, description = '' } = operation(method, path) ?? {};
      expect(Object.keys(responses)).toEqual([success, ...errors, 500, 503].map(String).toSorted());
      expect(description).toContain(scopes.length === 0 ? 'Any valid key' : `Scope ${scopes.join(' or ')}`);
      for (const { description: text } of Object.values(responses)) expect(text).not.toBe('Default Response');
    }
    const ids = ENDPOINTS.map(({ method, path }) => operation(method, path)?.operationId);
    expect(new Set(ids).size).toBe(7);
  });

  test('has the parameters of the contract', () => {
    const limit = { in: 'query', name: 'limit', required: false };
    const bounds = { type: 'integer', minimum: 1, maximum: 100, default: 20 };
    for (const path of ['/materials', '/reviews/due', '/search']) {
      expect(operation('GET', path)?.parameters).toContainEqual(
        expect.objectContaining({ ...limit, schema: bounds }),
      );
    }
    const q = (required: boolean) => expect.objectContaining({ in: 'query', name: 'q', required });
    expect(operation('GET', '/materials')?.parameters).toContainEqual(q(false));
    expect(operation('GET', '/search')?.parameters).toContainEqual(q(true));
    expect(operation('GET', '/me')?.parameters).toBeUndefined();
    for (const path of ['/reviews/{materialId}', '/materials/{materialId}/snooze']) {
      expect(operation('POST', path)?.parameters).toContainEqual(
        expect.objectContaining({ in: 'path', name: 'materialId', required: true }),
      );
    }
  });

  test('has the request bodies of the contract, which are required', () => {
    const body = (path: string) => {
      const { required, content } = operation('POST', path)?.requestBody ?? {};
      expect(required).toBe(true);
      const reference = content?.['application/json']?.schema.$ref ?? '';
      return document.components.schemas[reference.replace('#/components/schemas/', '')];
    };
    expect(body('/materials')).toMatchObject({
      required: ['title'],
      properties: {
        title: { type: 'string', minLength: 1, maxLength: 240 },
        content: { type: 'string' },
        sourceUrl: { type: 'string', format: 'uri' },
        type: { enum: ['simple', 'material', 'flashcard', 'card'], description: 'Without it: simple.' },
      },
    });
    // With one, generators make the field a required one.
    expect(body('/materials')).not.toHaveProperty('properties.type.default');
    expect(body('/reviews/{materialId}')).toMatchObject({
      required: ['quality'],
      properties: { quality: { type: 'integer', minimum: 0, maximum: 5 } },
    });
    expect(body('/materials/{materialId}/snooze')).toMatchObject({
      anyOf: [{ required: ['snoozeUntil'] }, { required: ['preset'] }],
      properties: {
        snoozeUntil: { type: 'string', format: 'date-time' },
        preset: { enum: ['1h', 'tomorrow', 'tonight'] },
        reason: { type: 'string' },
      },
    });
  });

  let document: Document;
  const operation = (method: string, path: string) => document.paths[path]?.[method.toLowerCase()];

  async function prepare(): Promise<void> {
    document = (await (await fetch(`${origin}/openapi.json`)).json()) as Document;
  }
});

describe('the page at /docs', () => {
  test('names files of this server only, and all of them are there', async () => {
    const page = await fetch(`${origin}/docs`);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    const files = [...(await page.text()).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThanOrEqual(5);
    for (const file of files.filter((name) => name !== 'data:,')) {
      expect(file).toMatch(/^\/docs\/static\//);
      expect((await fetch(origin + file)).status, file).toBe(200);
    }
  });

  test('has each file once for each compression, and 304 for who has it', async () => {
    const file = `${origin}/docs/static/swagger-ui-bundle.js`;
    const answer = await fetch(file, { headers: { 'accept-encoding': 'br' } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-encoding': 'br',
      'content-type': expect.stringMatching(/^(text|application)\/javascript; charset=utf-8$/i),
      vary: 'accept-encoding',
    });
    const again = { 'accept-encoding': 'br', 'if-none-match': answer.headers.get('etag') ?? '' };
    expect((await fetch(file, { headers: again })).status).toBe(304);
  });

  test.each([
    ['%00', {}, 404],
    ['..%2f..%2fpackage.json', {}, 404],
    ['nothing.js', {}, 404],
  ])('answers a request for %s with %j in the documented shape', async (file, headers, status) => {
    const answer = await fetch(`${origin}/docs/static/${file}`, { headers });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'no-store']);
    expect(await answer.json()).toHaveProperty('error.code');
  });

  test.runIf(hasBrowser('/docs'))(
    'shows the operations in a browser and sends each as it is filled in, once there is a material, with an emoji in q, asks no other host, and breaks no policy',
    async ({ dashboard, key }) => {
      const { page, hosts, complaints } = await dashboard.open();
      // As much as a megabyte of scripts may take.
      page.setDefaultTimeout(30_000);
      await page.goto(`${origin}/docs`);
      await page.locator('.opblock').nth(6).waitFor();
      expect(await page.locator('.opblock').count()).toBe(7);
      await page.locator('button.authorize').first().click();
      await page.locator('.auth-container input').first().fill(key);
      await page.locator('.auth-container button.authorize').first().click();
      await page.locator('.btn-done').first().click();
      const statusOf = async (operation: string, query?: string) => {
        const block = page.locator(`#operations-${operation}`);
        await block.locator('.opblock-summary').click();
        await block.locator('.try-out__btn').click();
        if (query !== undefined) await block.getByPlaceholder('q').fill(query);
        await block.locator('.execute').click();
        const status = block.locator('.live-responses-table .response-col_status').last();
        return (await status.innerText()).trim();
      };
      expect(await statusOf('Materials-createMaterial')).toBe('201');
      expect(await statusOf('Reviews-submitReview')).toBe('200');
      expect(await statusOf('Materials-snoozeMaterial')).toBe('201');
      expect(await statusOf('Account-getMe')).toBe('200');
      expect(await statusOf('Materials-listMaterials')).toBe('200');
      expect(await statusOf('Reviews-listDueMaterials')).toBe('200');
      expect(await statusOf('Materials-searchMaterials', 'é 😀')).toBe('200');
      expect([...hosts]).toEqual([new URL(origin).host]);
      expect(complaints).toEqual([]);
    },
  );
});

let origin: string;

function takeOrigin({ system }: Given<'system'>): void {
  origin = system.origins[0] ?? '';
}

type Operation = {
  operationId: string;
  description: string;
  parameters?: { in: string; name: string; required: boolean; schema: object }[];
  requestBody?: { required: boolean; content: Record<string, { schema: { $ref: string } }> };
  responses: Record<string, { description: string }>;
};
type Document = {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  security: object[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
};
