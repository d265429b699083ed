// The gateway against the specification "GraphQL over HTTP", by the audits of graphql-http, and what they leave out.
import { serverAudits } from 'graphql-http';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { OPERATOR, type TestGateway } from '../support/gateway.ts';

test.beforeAll(takeServices);

test('all 61 audits pass but for the exceptions, of which none is a MUST', async () => {
  const audits = serverAudits({
    url: `${gateway.origin}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${OPERATOR}` } }),
  });
  expect(audits.length).toBe(61);
  const failed: { id: string; level: string }[] = [];
  for (const { id, name, fn } of audits) {
    const { status } = await fn();
    if (status !== 'ok') failed.push({ id, level: name.split(' ')[0] ?? '' });
  }
  expect(failed.map(({ id }) => id).toSorted()).toEqual(Object.keys(EXCEPTIONS).toSorted());
  expect(failed.filter(({ level }) => level === 'MUST')).toEqual([]);
});

const GRAPHQL = 'application/graphql-response+json';

describe('a refusal', () => {
  test.each([
    ['without Accept', undefined, 'application/json'],
    ['with */*', '*/*', 'application/json'],
    ['with the new type', GRAPHQL, GRAPHQL],
    ['with both', `${GRAPHQL}, application/json`, GRAPHQL],
    ['with both, preferring the old one', `${GRAPHQL};q=0.5, application/json`, 'application/json'],
    ['with the new type excluded', `${GRAPHQL};q=0, */*`, 'application/json'],
    ['with nothing that there is', 'text/html', 'application/json'],
  ])('%s has the type that the client prefers', async (_, accept, type) => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    const bodies = ['{', '{"query":"{"}', '{"query":"{ nothing }"}', '{"query":"{ __typename }"}'];
    for (const body of bodies) {
      const response = await ask({ body, headers });
      expect(response.headers.get('content-type'), body).toBe(`${type}; charset=utf-8`);
      expect(response.status, body).toBe(body.includes('__typename') ? 200 : 400);
      await response.text();
    }
    const anonymous = await ask({ body: '{}', headers: { ...headers, authorization: '' } });
    expect([anonymous.status, anonymous.headers.get('content-type')]).toEqual([
      401,
      `${type}; charset=utf-8`,
    ]);
  });

  test('of a compressed body names the body', async () => {
    const body = '{"query":"{ __typename }"}';
    const response = await ask({ body, headers: { 'content-encoding': 'gzip' } });
    expect([response.status, await response.json()]).toEqual([
      400,
      { errors: [expect.objectContaining({ extensions: { code: 'INVALID_REQUEST', field: 'body' } })] },
    ]);
    expect((await ask({ body, headers: { 'content-encoding': 'identity' } })).status).toBe(200);
  });

  test('of a variable says where it is declared', async () => {
    const query = 'query(\n  $first: Int!\n) { users(first: $first) { nodes { id } } }';
    const response = await ask({ body: JSON.stringify({ query, variables: { first: 'ten' } }) });
    expect(await response.json()).toMatchObject({ errors: [{ locations: [{ line: 2, column: 3 }] }] });
  });
});

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
  '%s is answered with 405 and the method that there is',
  async (method) => {
    const response = await fetch(`${gateway.origin}/graphql?query={__typename}`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    if (method !== 'HEAD')
      expect(await response.json()).toMatchObject({
        errors: [
          {
            message: 'GraphQL is served over POST only. In urql, set preferGetMethod: false.',
            extensions: { code: 'INVALID_REQUEST' },
          },
        ],
      });
  },
);

let gateway: TestGateway;

function takeServices({ gateway: own }: Given<'gateway'>): void {
  gateway = own;
}

/** Audits that the gateway does not pass, and why. All others must pass. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  '5A70': 'GET is optional: it has no mutations, and its URLs end up in logs',
  D6D5: 'GET is optional',
  '6A70': 'GET is optional',
  '572B': 'a refusal is 400 since 1.0.0, so that clients, proxies and metrics see it',
  FDE2: 'a refusal is 400 since 1.0.0',
  '7B9B': 'a refusal is 400 since 1.0.0',
};

const ask = (init: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(`${gateway.origin}/graphql`, {
    method: 'POST',
    ...init,
    headers: {
      authorization: `Bearer ${OPERATOR}`,
      'content-type': 'application/json',
      ...init.headers,
    },
  });
