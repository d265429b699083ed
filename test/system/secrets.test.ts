// Nothing that must stay secret is found anywhere it could leak to, after everything was done, right and wrong.
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKey } from '../../services/accounts/keys/rules.ts';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { newSecret, type ServiceProcess, startService } from '../support/services.ts';

describeWithRedis('after everything was done, right and wrong', () => {
  beforeAll(startAll);
  afterAll(stopAll);

  test('no key, pepper or token is in any log, error, table, statement, metric, trace or process list, and no title or content in a log, an error, a metric or a trace', async () => {
    const key = await createKeyByCommand();
    await useRest(key);
    await useGraphql();
    await breakConnections(key);
    await observe();
    const metrics = await readMetrics();
    await untilTraced();
    const logs = {
      ...Object.fromEntries(services.map((service) => [`log of ${service.name}`, service.log()])),
      'log of PostgreSQL': readFileSync(join(folder, 'postgres', 'postgres.log'), 'utf8'),
    };
    const places: Record<string, string> = {
      ...seen,
      ...logs,
      metrics,
      tables: await tables(),
      Redis: redis.appendOnlyText(),
    };
    // What was looked through is what there was: each place holds something that it must.
    expect(places.tables).toContain(MARKER);
    expect(places.errors).toContain('invalid_request');
    expect(places.graphqlErrors).toContain('INVALID_REQUEST');
    expect(places.activity).toContain('LISTEN accounts_revocations');
    expect(places.processes).toContain('services/rest/main.ts');
    expect(places['log of rest']).toContain('/v1/reviews/:materialId');
    for (const name of ['accounts', 'gateway'])
      expect(places[`log of ${name}`]).toContain(`"name":"${name}","audit":true`);
    expect(places.metrics).toContain('srs_http_request');
    expect(places.traces).toContain('scheduling.v1.ReviewService/SubmitReview');
    expect(places.Redis).toContain('ZADD');
    for (const [place, text] of Object.entries(places)) {
      for (const secret of secrets) expect(text.includes(secret), `a secret in ${place}`).toBe(false);
    }
    for (const [place, text] of Object.entries({
      ...logs,
      metrics,
      errors: seen.errors ?? '',
      traces: seen.traces ?? '',
    })) {
      expect(contextOf(text, MARKER), `content in ${place}`).toBe('');
    }
  });

  async function startAll(): Promise<void> {
    folder = mkdtempSync(join(tmpdir(), 'srs-secrets-'));
    chmodSync(folder, 0o755);
    postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres'), durable: false });
    secrets.add(new URL(postgres.databaseUrl).password);
    redis = await startRedis({ password: REDIS_PASSWORD, appendOnly: true });
    const collector = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text) => {
        seen.traces += text;
      });
      request.on('end', () => response.end('{}'));
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    closeCollector = () => collector.close();
    const { port } = collector.address() as AddressInfo;
    const common = {
      LOG_LEVEL: 'trace',
      SERVICE_TOKEN,
      OPS_PORT: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    };
    const withData = { ...common, DATABASE_URL: postgres.databaseUrl };
    const [accounts, scheduling] = await Promise.all([
      startService('accounts', { ...withData, KEY_PEPPER: `1:${PEPPER}`, KEY_CREATION_LIMIT_PER_HOUR: '20' }),
      startService('scheduling', withData),
    ]);
    const targets = { ACCOUNTS_URL: accounts.target, SCHEDULING_URL: scheduling.target };
    const [rest, gateway] = await Promise.all([
      startService('rest', { ...common, ...targets, REDIS_URL: redis.url }),
      startService('gateway', {
        ...common,
        ...targets,
        GATEWAY_TOKENS: `olga:operator:${OPERATOR},vic:viewer:${VIEWER}`,
      }),
    ]);
    services = [accounts, scheduling, rest, gateway];
    sql = new Client({ connectionString: postgres.databaseUrl });
    await sql.connect();
  }

  async function stopAll(): Promise<void> {
    await sql?.end();
    for (const service of services ?? []) await service.kill();
    closeCollector();
    await redis?.stop();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const root = dirname(dirname(import.meta.dirname));
/** What may be stored, and sent back to whom it belongs, but stands in no log and no error. */
const MARKER = 'Quetzalcoatl';
const PEPPER = newSecret();
const [SERVICE_TOKEN, OPERATOR, VIEWER, REDIS_PASSWORD] = [
  newSecret(),
  newSecret(),
  newSecret(),
  newSecret(),
];
const UNKNOWN_KEY = generateKey((size) => Buffer.alloc(size, 7));

let folder: string;
let postgres: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let redis: RedisServer;
let services: ServiceProcess[];
let sql: Client;
let closeCollector = () => {};
const secrets = new Set([PEPPER, SERVICE_TOKEN, OPERATOR, VIEWER, REDIS_PASSWORD, UNKNOWN_KEY]);

const contextOf = (text: string, word: string) => {
  const at = text.toLowerCase().indexOf(word.toLowerCase());
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 100);
};

/** Statements and command lines, at this moment. */
async function observe(): Promise<void> {
  const { rows } = await sql.query('SELECT query, application_name FROM pg_stat_activity');
  seen.activity += JSON.stringify(rows);
  seen.processes += execFileSync('ps', ['axww', '-o', 'args'], { encoding: 'utf8' });
}

async function createKeyByCommand(): Promise<string> {
  const [accounts] = services;
  const command = promisify(execFile)(
    'npm',
    [
      'run',
      '--silent',
      'keys',
      '--',
      'create',
      '--email',
      'a@example.com',
      '--scopes',
      'materials:read,materials:write,reviews:read,reviews:write,snooze:write',
      '--json',
    ],
    {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ACCOUNTS_URL: accounts?.target, SERVICE_TOKEN },
    },
  );
  await observe();
  const { key } = JSON.parse((await command).stdout);
  secrets.add(key);
  return key;
}

async function useRest(key: string): Promise<void> {
  const origin = services[2]?.origin;
  const send = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(json !== undefined && { body: typeof json === 'string' ? json : JSON.stringify(json) }),
    });
    const text = await response.text();
    if (!response.ok) seen.errors += `${JSON.stringify([...response.headers])} ${text}\n`;
    return { status: response.status, text };
  };
  const made = await send(
    'POST',
    '/v1/materials',
    {
      title: `${MARKER} title`,
      content: `${MARKER} content`,
      sourceUrl: `https://example.com/${MARKER}`,
    },
    { 'idempotency-key': 'k1' },
  );
  const { id } = JSON.parse(made.text).material;
  await send('GET', '/v1/me');
  await send('GET', `/v1/materials?q=${MARKER}`);
  await send('GET', `/v1/search?q=${MARKER}`);
  await send('GET', '/v1/reviews/due');
  await send('POST', `/v1/reviews/${id}`, { quality: 4 });
  await send('POST', `/v1/materials/${id}/snooze`, { preset: '1h', reason: `${MARKER} reason` });
  await observe();
  // And all of it wrong.
  const long = `${MARKER} ${'x'.repeat(600)}`;
  await send('POST', '/v1/materials', { title: long, content: `${MARKER}\u0000` });
  await send('POST', '/v1/materials', { title: `${MARKER}`, content: `${MARKER}\u0000` });
  await send('POST', '/v1/materials', { title: 't', sourceUrl: `${MARKER} no uri` });
  await send('POST', '/v1/materials', { title: 't', type: MARKER });
  await send('POST', '/v1/materials', `{"title":"${MARKER}`);
  await send('POST', '/v1/materials', { title: MARKER }, { 'idempotency-key': 'k1' });
  await send('POST', `/v1/reviews/${id}`, { quality: MARKER });
  await send('POST', `/v1/materials/${id}/snooze`, { preset: MARKER });
  await send('POST', `/v1/materials/${id}/snooze`, { snoozeUntil: MARKER });
  await send('POST', `/v1/materials/${id}/snooze`, { preset: '1h', reason: long });
  await send('GET', `/v1/materials?limit=${MARKER}`);
  await send('GET', `/v1/search?q=${MARKER}&q=${MARKER}`);
  await send('GET', `/v1/search?q=${MARKER}%00`);
  await send('GET', `/v1/${key}`);
  await send('POST', `/v1/reviews/${key}`, { quality: 4 });
  await send('GET', `/v1/me?key=${key}`, undefined, { authorization: `Bearer ${UNKNOWN_KEY}` });
  await send('GET', '/v1/me', undefined, { authorization: `Basic ${key}`, 'x-service-api-key': `${key}x` });
  await send('GET', '/v1/me', undefined, { 'x-request-id': key, traceparent: key });
  for (let index = 0; index < 70; index += 1) await send('POST', '/v1/materials', { title: MARKER });
}

async function useGraphql(): Promise<void> {
  const origin = services[3]?.origin;
  const send = async (query: string, variables: object = {}, token = OPERATOR) => {
    const response = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each query
    const answer = (await response.json()) as { data: any; errors?: object[] };
    // GraphQL quotes to the caller what they have sent themselves, but no key.
    seen.graphqlErrors += JSON.stringify(answer.errors ?? '');
    return answer.data;
  };
  const { user } = await send('{ user(email: "a@example.com") { id materials { nodes { id title } } } }');
  const userId: string = user.id;
  const materialId = user.materials.nodes[0].id;
  const created = await send(
    'mutation($i: CreateApiKeyInput!) { createApiKey(input: $i) { key apiKey { id } } }',
    {
      i: { userId, scopes: ['materials:read'] },
    },
  );
  const { key, apiKey } = created.createApiKey;
  secrets.add(key);
  const rotated = await send('mutation($i: RotateApiKeyInput!) { rotateApiKey(input: $i) { key } }', {
    i: { apiKeyId: apiKey.id },
  });
  secrets.add(rotated.rotateApiKey.key);
  await send('mutation($i: RevokeApiKeyInput!) { revokeApiKey(input: $i) { apiKey { id } } }', {
    i: { apiKeyId: key },
  });
  await send('mutation($i: RevokeApiKeyInput!) { revokeApiKey(input: $i) { apiKey { id } } }', {
    i: { apiKeyId: apiKey.id },
  });
  const update = 'mutation($i: UpdateMaterialInput!) { updateMaterial(input: $i) { material { title } } }';
  await send(update, { i: { userId, materialId, title: `${MARKER} again`, content: null } });
  await observe();
  // And wrong.
  await send(update, { i: { userId, materialId, title: [`${MARKER}`, 1], nothing: MARKER } });
  await send(update, { i: { userId, materialId, title: `${MARKER} `.repeat(50) } });
  await send(update, { i: { userId, materialId, type: MARKER } });
  await send(update, { i: MARKER });
  await send(update, { i: { userId, materialId, sourceUrl: `${MARKER} no uri` } });
  await send(update, { i: { userId, materialId, title: MARKER } }, VIEWER);
  await send(update, { i: { userId, materialId, title: MARKER } }, newSecret());
  await send(
    `mutation { updateMaterial(input: { userId: "${userId}", materialId: "${materialId}", title: 5, content: "${MARKER}" "${MARKER}" }) { material { title } } }`,
  );
  await send(
    `mutation { updateMaterial(input: { userId: "${userId}", type: "${MARKER}" }) { material { title } } }`,
  );
  await send(
    `{ user(id: "${userId}") { materials(query: "${MARKER}", first: "${MARKER}") { nodes { id } } } } "${MARKER}"`,
  );
  await send(`{ user(id: "${userId}") { materials(query: """${MARKER}""", first: 1000) { nodes { id } } } }`);
  await send(`{ user(id: "${key}") { id } }`);
}

/** Faults of ours, which are logged whole: statements in the middle of which their connection ends. */
async function breakConnections(key: string): Promise<void> {
  const { rows } = await sql.query('SELECT user_id, material_id FROM scheduling.materials LIMIT 1');
  await sql.query('BEGIN');
  await sql.query('SELECT FROM scheduling.materials WHERE material_id = $1 FOR UPDATE', [
    rows[0].material_id,
  ]);
  const waiting = fetch(`${services[3]?.origin}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: 'mutation($i: UpdateMaterialInput!) { updateMaterial(input: $i) { material { title } } }',
      variables: {
        i: { userId: rows[0].user_id, materialId: rows[0].material_id, title: `${MARKER} stuck` },
      },
    }),
  });
  await expect
    .poll(
      async () => (await sql.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rowCount,
    )
    .toBeGreaterThan(0);
  await observe();
  await sql.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'scheduling'",
  );
  seen.errors += await (await waiting).text();
  await sql.query('ROLLBACK');
  const search = await fetch(`${services[2]?.origin}/v1/search?q=${MARKER}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  if (!search.ok) seen.errors += await search.text();
}

/** Of all services. */
async function readMetrics(): Promise<string> {
  const texts = services.map(async (service) => {
    const port = /"port":(\d+),"msg":"ops is ready"/.exec(service.log())?.[1];
    return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  });
  return (await Promise.all(texts)).join('');
}

/** Spans are sent in batches, some seconds after they end. */
async function untilTraced(): Promise<void> {
  for (const span of [
    'ReviewService/SubmitReview',
    'ApiKeyService/CreateApiKey',
    'MaterialService/UpdateMaterial',
  ]) {
    await expect.poll(() => seen.traces).toContain(span);
  }
}

/** Every row of every table of ours, as text. */
async function tables(): Promise<string> {
  const { rows } = await sql.query(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('accounts', 'scheduling')",
  );
  let contents = '';
  for (const { name } of rows) {
    contents += JSON.stringify((await sql.query(`SELECT t::text FROM ${name} t`)).rows);
  }
  return contents;
}

/** Everything that a caller, an operator or another account of this machine could read. */
const seen: Record<string, string> = {
  errors: '',
  graphqlErrors: '',
  activity: '',
  processes: '',
  traces: '',
};
