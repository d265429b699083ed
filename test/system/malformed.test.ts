// Malformed requests meet no 5xx, end no process, and get nothing but documented answers. FACTOR=40 sends 40 times as many.
import { Client, credentials, type ServiceError as GrpcError, status } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadProto } from '../../services/platform/protobuf/load.ts';
import { isErrorBody } from '../contract/spec.ts';
import { createApi } from '../support/api.ts';
import { generateBroken, sendBroken } from '../support/broken-http.ts';
import { anyMessage } from '../support/extreme-messages.ts';
import { OPERATOR, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem, type TestUser } from '../support/system.ts';

/** Another one each day of the year, printed with every failure: what is found can be found again. */
const SEED = Number(process.env.SEED ?? Math.floor(Date.now() / 86_400_000));

beforeAll(startAll);
afterAll(stopAll);

describe(`malformed requests, seed ${SEED}`, () => {
  test('on a bare socket get documented answers, or none where they never ended', async () => {
    const statuses = new Map<string, number>();
    await each(generateBroken(user.key, materialId, 500 * FACTOR, SEED), async (broken) => {
      const answer = await sendBroken(here.port, broken);
      const code = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? (answer === '' ? 'none' : 'not HTTP');
      statuses.set(code, (statuses.get(code) ?? 0) + 1);
      expect(
        ['none', '100', '200', '201', '400', '401', '404'],
        JSON.stringify({ broken, answer }),
      ).toContain(code);
      if (!/^[4]\d\d$/.test(code)) return;
      const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
      const [, length = '0'] = /content-length: (\d+)/i.exec(answer) ?? [];
      expect(isErrorBody(Number(code), JSON.parse(body.slice(0, Number(length))))).toBe(true);
    });
    expect(statuses.get('400')).toBeGreaterThan(0);
  });

  test('as gRPC messages with every field out of range are refused in words, not failed on', async () => {
    const methods = [
      ...methodsOf('scheduling.v1', here.schedulingTarget),
      ...methodsOf('accounts.v1', here.accountsTarget),
    ];
    expect(methods.length).toBeGreaterThan(30);
    const perMethod = Math.ceil((400 * FACTOR) / methods.length);
    const codes = new Map<string, number>();
    const calls = methods.flatMap(({ method, client }) =>
      fc
        .sample(anyMessage(method, user.userId), { numRuns: perMethod, seed: SEED })
        .map((message) => ({ method, client, message })),
    );
    await each(calls, async ({ method, client, message }) => {
      let code: string;
      // A busy machine's answer, after which a client asks again.
      do code = await callRaw(client, method, message);
      while (code === 'UNAVAILABLE');
      codes.set(code, (codes.get(code) ?? 0) + 1);
      expect(
        ['OK', 'INVALID_ARGUMENT', 'NOT_FOUND', 'ALREADY_EXISTS', 'UNAUTHENTICATED', 'RESOURCE_EXHAUSTED'],
        `${method.path} ${JSON.stringify(message).slice(0, 2000)}`,
      ).toContain(code);
    });
    for (const { client } of methods) client.close();
    expect(codes.get('INVALID_ARGUMENT')).toBeGreaterThan(0);
  });

  test('as GraphQL bodies get answers with documented codes', async () => {
    const words = fc.constantFrom(
      ...'{ } ( ) : $ ! [ ] ... on query mutation fragment user materials id email title first after node edges __typename @skip @include if true null 1 -1 1e400 "x" """x""" $v # \u0000 é'.split(
        ' ',
      ),
    );
    const anyDocument = fc.array(words, { maxLength: 40 }).map((list) => list.join(' '));
    const anyBody = fc.oneof(
      fc.record({ query: anyDocument, variables: fc.jsonValue() }).map((value) => JSON.stringify(value)),
      fc.json(),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.jsonValue().map((value) =>
        JSON.stringify({
          query: 'query($v: ID!) { user(id: $v) { email materials(first: 2) { nodes { title } } } }',
          variables: { v: value },
        }),
      ),
    );
    await each(fc.sample(anyBody, { numRuns: 125 * FACTOR, seed: SEED }), async (body) => {
      const answer = await gateway.send(body, { authorization: `Bearer ${OPERATOR}` });
      expect([200, 400], body).toContain(answer.status);
      for (const { extensions } of answer.errors ?? []) {
        expect(['INVALID_REQUEST', 'NOT_FOUND'], `${body} ${JSON.stringify(answer.errors)}`).toContain(
          extensions.code,
        );
      }
    });
  });

  test('after which everything still works', async () => {
    const api = createApi(`${here.origins[0]}/v1`, (await here.createUser()).key);
    const { id } = await api.create({ title: 'After' });
    expect((await api.post(`/reviews/${id}`, { quality: 5 })).status).toBe(200);
  });
});

const FACTOR = Number(process.env.FACTOR ?? 1);

let here: TestSystem;
let gateway: TestGateway;
let user: TestUser;
let materialId: string;

async function startAll(): Promise<void> {
  here = await startSystem();
  gateway = await startTestGateway(here);
  user = await here.createUser();
  materialId = (await createApi(`${here.origins[0]}/v1`, user.key).create({ title: 'Target' })).id;
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await here.stop();
}

type Method = MethodDefinition<object, object>;

/** Every unary rpc of a proto package, and a channel to whoever serves it. */
function methodsOf(packageName: string, target: string): { method: Method; client: Client }[] {
  const client = new Client(target, credentials.createInsecure());
  return Object.values(loadProto(packageName))
    .filter((definition) => !('format' in definition))
    .flatMap((service) => Object.values(service as Record<string, Method>))
    .filter(({ responseStream }) => !responseStream)
    .map((method) => ({ method, client }));
}

/** The name of the status; the message is serialised as it is, without our checks of types. */
function callRaw(client: Client, { path, requestSerialize, responseDeserialize }: Method, message: object) {
  return new Promise<string>((resolve) => {
    const deadline = Date.now() + 10_000;
    const done = (error: GrpcError | null) => resolve(status[error?.code ?? 0] ?? 'unknown');
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, { deadline }, done);
  });
}

/** Runs `work` over `items`, 32 at a time. */
async function each<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const worker = async () => {
    for (let item = items.pop(); item !== undefined; item = items.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}
