import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Material } from '../../services/rest/client/types.ts';
import { createApi } from '../support/api.ts';
import { OPERATOR, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem, type TestUser } from '../support/system.ts';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

beforeAll(startAll);
afterAll(stopAll);

describe('the review’s row', () => {
  test('holds the id and the trace of the REST request that made it', async () => {
    const { headers } = await review({ 'x-request-id': 'from-rest', traceparent: TRACE });
    expect(headers.get('x-request-id')).toBe('from-rest');
    expect(await latestOrigin()).toEqual({ x_request_id: 'from-rest', traceparent: TRACE });
  });

  test('holds them under an Idempotency-Key too', async () => {
    await review({ 'x-request-id': 'once', traceparent: TRACE, 'idempotency-key': 'k' });
    expect(await latestOrigin()).toEqual({ x_request_id: 'once', traceparent: TRACE });
  });

  test('holds those of the GraphQL request', async () => {
    const query = `mutation { submitReview(input: { userId: "${user.userId}", materialId: "${material.id}", quality: 5 }) { review { quality } } }`;
    const headers = {
      authorization: `Bearer ${OPERATOR}`,
      'x-request-id': 'from-graphql',
      traceparent: TRACE,
    };
    const answer = await gateway.send(JSON.stringify({ query }), headers);
    expect(answer.errors).toBeUndefined();
    expect(await latestOrigin()).toEqual({ x_request_id: 'from-graphql', traceparent: TRACE });
  });

  test.each([
    ['of another form', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['of zeros alone', '00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
    ['of version ff', 'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['in capitals', TRACE.toUpperCase()],
  ])('holds no trace that is %s', async (_what, traceparent) => {
    const { headers } = await review({ traceparent });
    expect(await latestOrigin()).toEqual({
      x_request_id: headers.get('x-request-id'),
      traceparent: null,
    });
  });
});

let here: TestSystem;
let gateway: TestGateway;
let user: TestUser;
let sql: Client;
let material: Material;

async function startAll(): Promise<void> {
  here = await startSystem();
  gateway = await startTestGateway(here);
  user = await here.createUser();
  sql = new Client({ connectionString: here.databaseUrl });
  await sql.connect();
  material = await createApi(`${here.origins[0]}/v1`, user.key).create({ title: 'T' });
}

async function stopAll(): Promise<void> {
  await sql.end();
  await gateway.stop();
  await here.stop();
}

async function latestOrigin() {
  const { rows } = await sql.query(
    'SELECT x_request_id, traceparent FROM scheduling.reviews WHERE material_id = $1 ORDER BY revision DESC LIMIT 1',
    [material.id],
  );
  return rows[0];
}

const review = (headers: Record<string, string>) =>
  createApi(`${here.origins[0]}/v1`, user.key).post(`/reviews/${material.id}`, { quality: 4 }, { headers });
