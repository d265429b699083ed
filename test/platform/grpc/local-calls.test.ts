// A call without a wire is a call over gRPC: the same random calls go both ways, and nothing differs.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageTypeDefinition, MethodDefinition, ServiceDefinition } from '@grpc/proto-loader';
import { trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserDataServiceDefinition } from '../../../generated/scheduling/v1/UserDataService.ts';
import { type ErrorDetails, type ErrorReason, ServiceError } from '../../../services/platform/errors.ts';
import { type CallOptions, clientsOf, createGrpcClient } from '../../../services/platform/grpc/client.ts';
import type { CallContext, ServiceImplementation } from '../../../services/platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../../../services/platform/grpc/server.ts';
import { isMessageTooLarge } from '../../../services/platform/grpc/status.ts';
import { createMetrics } from '../../../services/platform/observability/metrics.ts';
import { createTelemetry, type Telemetry } from '../../../services/platform/observability/telemetry.ts';
import { loadProto, serviceDefinition } from '../../../services/platform/protobuf/load.ts';
import { registerAlone } from '../../support/spans.ts';

beforeAll(startAll, 60_000);
afterAll(stopAll);

test('a call without a wire has the outcome, the log, the metrics and the trace of one over gRPC', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (next) => {
      fc.pre(!isRetried(next));
      const outcomes: unknown[] = [];
      for (const way of ['gRPC', 'local'] as const) {
        script = { ...next, does: structuredCloneOf(next.does) };
        outcomes.push(await outcomeOf(way));
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
    }),
    { numRuns: 200 },
  );
}, 240_000);

/** Each way spoils a response of its own. */
const structuredCloneOf = (does: Script['does']): Script['does'] =>
  'response' in does ? { response: structuredClone(does.response) } : does;

test.each(['answers', 'fails'] as const)('a handler that %s after its deadline is aborted', async (ends) => {
  const [method] = methods as [Method];
  const outcomes: unknown[] = [];
  for (const way of ['gRPC', 'local'] as const) {
    const call = { requestId: 'late', deadlineMs: 80 };
    script = { method, request: {}, call, isBounded: false, does: { waitsForItsEnd: ends } };
    outcomes.push(await outcomeOf(way));
  }
  expect(outcomes[1]).toEqual(outcomes[0]);
  expect(outcomes[0]).toMatchObject({ outcome: { error: { reason: 'UNAVAILABLE', code: 4 } } });
});

test.each([0, -1])('a call with a deadline in %i ms fails, whatever its handler does', async (deadlineMs) => {
  const [method] = methods as [Method];
  for (const way of ['gRPC', 'local'] as const) {
    const call = { requestId: 'late', deadlineMs };
    script = { method, request: {}, call, isBounded: false, does: { response: {} } };
    const { outcome } = (await outcomeOf(way)) as { outcome: unknown };
    expect(outcome).toMatchObject({ error: { reason: 'UNAVAILABLE', code: 4 } });
    // Over gRPC the handler may run or not.
    await sleep(50);
  }
});

test('a stream of a service in the same process is one', async () => {
  const server = servers[0] as GrpcServer;
  const definition = serviceDefinition<UserDataServiceDefinition>(
    loadProto('scheduling.v1'),
    'scheduling.v1.UserDataService',
  );
  const to = { target: `127.0.0.1:${server.port}`, trust, caller: 'test', deadlineMs: DEADLINE_MS };
  const client = createGrpcClient<UserDataServiceDefinition, 'ExportUserData'>(definition, {
    ...to,
    local: server.local,
  });
  const call = { requestId: 'stream' };
  const method = definition.ExportUserData as unknown as Method;
  script = { method, request: {}, call, isBounded: false, does: { response: {} } };
  expect(await client.exportUserData({ userId: 'somebody' }, call).toArray()).toEqual([]);
  client.close();
});

test.each(['gRPC', 'local'] as const)(
  'a server that closes lets a call over %s end, cuts a longer one and refuses the next',
  async (way) => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    const server = await startGrpcServer({
      domain: 'scheduling.v1',
      host: '127.0.0.1',
      port: 0,
      trust,
      logger: pino({ level: 'silent' }),
      services: [
        {
          service: 'UserDataService',
          handlers: {
            ExportUserData: async () => {},
            ImportUserData: async () => ({}),
            async DeleteUserData() {
              await gates[count++]?.promise;
              return {};
            },
          },
        },
      ],
    });
    const to = { target: `127.0.0.1:${server.port}`, trust, caller: 'test', deadlineMs: DEADLINE_MS };
    const locals = way === 'local' ? { 'scheduling.v1': server.local } : {};
    const client = clientsOf('scheduling.v1', { ...to, locals })<UserDataServiceDefinition>(
      'UserDataService',
    );
    const ask = () =>
      client.deleteUserData({ userId: 'somebody' }, { requestId: 'test' }).then(
        () => 'answered',
        (error: unknown) => (error as ServiceError).reason,
      );
    const [short, long] = [ask(), ask()];
    await expect.poll(() => count).toBe(2);
    const beganMs = performance.now();
    const closed = server.close(1000);
    await sleep(100);
    expect(await ask()).toBe('UNAVAILABLE');
    gates[0]?.resolve();
    expect(await short).toBe('answered');
    expect(await long).toBe('UNAVAILABLE');
    await closed;
    expect(performance.now() - beganMs).toBeLessThan(DEADLINE_MS / 2);
    gates[1]?.resolve();
    expect(count).toBe(2);
    client.close();
  },
);

const trust = { serviceTokens: [], tls: undefined };
const PACKAGES = ['scheduling.v1', 'accounts.v1', 'reminders.v1'];
/** Responses of more bytes are refused by half of the clients. */
const BOUND_BYTES = 60;
const DEADLINE_MS = 30_000;

const servers: GrpcServer[] = [];
const clients = new Map<string, Client>();
/** What is seen of the call under way, outside its caller. */
let seen: unknown[] = [];
let script: Script;

/** Names of spans by their IDs, so that a span can say in which one it was. */
const spanNames = new Map<string, string>();

async function startAll(): Promise<void> {
  registerAlone(
    new NodeTracerProvider({
      spanProcessors: [
        {
          onStart: (span) => void spanNames.set(span.spanContext().spanId, `${span.kind} ${span.name}`),
          onEnd({ kind, name, attributes, status, parentSpanContext }) {
            // Of a service that other files of this process use.
            if (name !== (script as Script | undefined)?.method.path.slice(1)) return;
            const { 'srs.request_id': id, ...others } = attributes;
            const parent = spanNames.get(parentSpanContext?.spanId ?? '');
            seen.push(['span', kind, name, others, status, { parent, requestId: knownId(id) }]);
          },
          forceFlush: async () => {},
          shutdown: async () => {},
        },
      ],
    }),
  );
  for (const domain of PACKAGES) {
    const proto = loadProto(domain);
    const services: ServiceImplementation[] = Object.entries(proto)
      .filter(([name, definition]) => !('format' in definition) && name.startsWith(domain))
      .map(([name, definition]) => ({
        service: name.slice(domain.length + 1),
        handlers: Object.fromEntries(Object.keys(definition).map((rpc) => [rpc, handle])),
      }));
    const server = await startGrpcServer({
      domain,
      services,
      host: '127.0.0.1',
      port: 0,
      trust,
      logger,
      telemetry: watching('server'),
    });
    servers.push(server);
    for (const { service } of services) {
      const definition = serviceDefinition(proto, `${domain}.${service}`);
      for (const way of ['gRPC', 'local'])
        for (const isBounded of [true, false]) {
          const client = createGrpcClient(definition, {
            target: `127.0.0.1:${server.port}`,
            trust,
            caller: 'test',
            deadlineMs: DEADLINE_MS,
            ...(isBounded && { maxMessageBytes: BOUND_BYTES }),
            telemetry: watching('client'),
            local: way === 'local' ? server.local : undefined,
          });
          clients.set(`${way} ${domain}.${service} ${isBounded}`, client as unknown as Client);
        }
    }
  }
}

async function stopAll(): Promise<void> {
  for (const client of clients.values()) client.close();
  for (const server of servers) await server.close(500);
}

// Lone surrogates are only in requests: what a service answers has been in a database.
const text = fc.string({ unit: 'binary', maxLength: 50 });

const READ = /\/(Count|Get|List|Find|Search|Preview|Verify|BatchGet|BatchList)/;

type Method = MethodDefinition<object, object>;
type Field = { name: string; type: string; label: string; typeName: string };
type Rpc = (request: unknown, call: CallOptions) => Promise<unknown>;
type Client = Record<string, Rpc> & { close(): void };
/** What a handler does, and how its call is made. */
type Script = {
  method: Method;
  request: unknown;
  call: CallOptions;
  isBounded: boolean;
  does: { response: unknown } | { error: unknown } | { waitsForItsEnd: 'answers' | 'fails' };
};
type Way = 'gRPC' | 'local';

const methods: Method[] = PACKAGES.flatMap((name) =>
  Object.values(loadProto(name))
    .filter((definition) => !('format' in definition))
    .flatMap((service) => Object.values(service as ServiceDefinition) as Method[])
    .filter(({ responseStream }) => !responseStream),
);

/** An ID that the caller did not give is a new one each time. */
const knownId = (id: unknown) => (id === undefined || id === script.call.requestId ? id : 'new');

/** Records what is measured. */
const watching = (side: string): Telemetry => ({
  ...createTelemetry(),
  metrics: { ...createMetrics(), time: (name) => (labels) => void seen.push([side, name, labels]) },
});

const logger = pino(
  { level: 'info' },
  {
    write(line: string) {
      const { time, durationMs, requestId, err, ...told } = JSON.parse(line);
      seen.push(['log', { ...told, requestId: knownId(requestId), err: err?.message }]);
    },
  },
);

async function handle(request: unknown, { signal, ...context }: CallContext): Promise<unknown> {
  const { requestId, caller, traceparent } = context;
  const span = spanNames.get(trace.getActiveSpan()?.spanContext().spanId ?? '');
  // The client's own span has another ID each time.
  const origin = traceparent === script.call.traceparent ? traceparent : traceparent !== undefined;
  seen.push(['handler', structuredClone(request), caller, origin, knownId(requestId), span]);
  if (typeof request === 'object' && request !== null) spoil(request);
  const { does } = script;
  if ('error' in does) throw does.error;
  if ('response' in does) {
    setImmediate(() => spoil(does.response));
    return does.response;
  }
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  seen.push(['ended', (signal.reason as ServiceError).reason]);
  if (does.waitsForItsEnd === 'fails') throw new Error('too late');
  return {};
}

/** Changes all that `message` holds. */
function spoil(message: unknown): void {
  if (typeof message !== 'object' || message === null || Object.isFrozen(message)) return;
  for (const [name, value] of Object.entries(message)) {
    spoil(value);
    (message as Record<string, unknown>)[name] = 'spoilt';
  }
}

/** All that anybody sees of a call. */
async function outcomeOf(way: Way): Promise<unknown> {
  const { method, request, call, isBounded } = script;
  seen = [];
  const [, service, rpc = ''] = method.path.split('/');
  const client = clients.get(`${way} ${service} ${isBounded}`) as Client;
  const own = structuredClone(request);
  const name = rpc.charAt(0).toLowerCase() + rpc.slice(1);
  const before = structuredClone(own);
  const asked = (client[name] as Rpc)(own, call).then(
    (response) => ({ response }),
    (error: unknown) => ({ error: describe(error) }),
  );
  const outcome = await asked;
  expect(own).toEqual(before);
  if ('waitsForItsEnd' in script.does) await expect.poll(() => JSON.stringify(seen)).toContain('"log"');
  const then = structuredClone(outcome);
  // The handler spoils its response meanwhile.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(outcome).toEqual(then);
  return { outcome, seen: inOrder(seen) };
}

/** Over gRPC, the client and the server hear of the end of a call in any order. */
const inOrder = (all: unknown[]) => all.map((each) => JSON.stringify(each)).toSorted();

function describe(error: unknown) {
  if (!(error instanceof ServiceError)) return `${error}`;
  const { reason, message, field, problem, requiredScopes, retryAfterSeconds, cause } = error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const isLarge = isMessageTooLarge(error);
  const said = isLarge ? `${cause}` : undefined;
  return { reason, message, field, problem, requiredScopes, retryAfterSeconds, code, said, isLarge };
}

const anyText = fc.oneof(
  { weight: 8, arbitrary: text },
  fc.constantFrom('\0', 'a\0b', '\ud800', `a${'é'.repeat(50)}\udfff`, '\u{10ffff}', 'x'.repeat(70)),
  fc.uuid(),
);
const wrong = fc.oneof(
  fc.constantFrom(null, undefined, true, 0, -1, 2.7, 1e20, Number.NaN, '', '12', 'abc', -0),
  fc.constantFrom({}, { seconds: 1 }, [], ['a', 1], [[]]),
);

function messageOf(
  { type }: MessageTypeDefinition<object, object>,
  domain: string,
  isRequest: boolean,
): fc.Arbitrary<Record<string, unknown>> {
  // The descriptor that proto-loader keeps with every message: google.protobuf.DescriptorProto.
  const { field: fields } = type as unknown as { field: Field[] };
  const values = Object.fromEntries(
    fields.map((field) => {
      const one = anyValueOf(field, domain, isRequest);
      const right = field.label === 'LABEL_REPEATED' ? fc.array(one, { maxLength: 3 }) : one;
      // An enum's number that is no whole number goes over the wire cut; no handler makes such.
      const isSafe = isRequest || field.type !== 'TYPE_ENUM';
      return [field.name, isSafe ? fc.oneof({ weight: 12, arbitrary: right }, wrong) : right] as const;
    }),
  );
  return fc.record({ ...values, unknownField: anyText }, { requiredKeys: [] });
}

function anyValueOf({ type, typeName }: Field, domain: string, isRequest: boolean): fc.Arbitrary<unknown> {
  const proto = loadProto(domain);
  const fullName = Object.keys(proto).find((name) => `.${name}`.endsWith(`.${typeName}`));
  const found = proto[fullName ?? ''];
  switch (type) {
    case 'TYPE_STRING':
      return isRequest ? anyText : fc.oneof(text, fc.uuid());
    case 'TYPE_BOOL':
      return fc.boolean();
    case 'TYPE_ENUM': {
      const { value } = (found as unknown as { type: { value: { name: string }[] } }).type;
      return fc.constantFrom(...value.map(({ name }) => name), 'UNKNOWN_NAME', 0, 1, 99, -1);
    }
    case 'TYPE_DOUBLE':
      return fc.double();
    case 'TYPE_INT64':
      return fc.oneof(fc.maxSafeInteger(), fc.integer().map(String));
    case 'TYPE_MESSAGE':
      return messageOf(found as MessageTypeDefinition<object, object>, domain, isRequest);
    default:
      return fc.oneof(fc.integer(), fc.constantFrom(0, 2 ** 31, -(2 ** 31), 5));
  }
}

const reasons: ErrorReason[] = [
  'UNAUTHORIZED',
  'INVALID_REQUEST',
  'NOT_FOUND',
  'UNAVAILABLE',
  'RATE_LIMITED',
];
const errors = fc.oneof(
  fc.constantFrom(new Error('a bug'), 'a text', undefined, new TypeError('é'.repeat(3000))),
  fc
    .tuple(
      fc.constantFrom(...reasons, 'INTERNAL_ERROR' as const, 'INSUFFICIENT_SCOPE' as const),
      fc.record(
        {
          message: fc.oneof(anyText, fc.constant('é'.repeat(3000))),
          field: anyText,
          problem: anyText,
          requiredScopes: fc.array(fc.constantFrom('read', 'write'), { minLength: 1 }),
          retryAfterSeconds: fc.integer({ min: 1, max: 100 }),
          cause: fc.constant(new Error('why')),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([reason, details]) => new ServiceError(reason, details as ErrorDetails)),
);

const calls: fc.Arbitrary<CallOptions> = fc.record(
  {
    requestId: fc.constantFrom(
      'r',
      '',
      'é',
      'two\nlines',
      'x'.repeat(3000),
      'rmk_live_0123456789abcdef',
      'a,b',
    ),
    caller: fc.constantFrom('rest', 'gateway ops', 'é', ''),
    traceparent: fc.constantFrom('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'none'),
    receive: fc.constantFrom(
      (bytes: number) => void seen.push(['received', bytes]),
      (bytes: number) => {
        throw new Error(`${bytes} bytes are too many`);
      },
    ),
  },
  { requiredKeys: ['requestId'] },
);

const scripts: fc.Arbitrary<Script> = fc.constantFrom(...methods).chain((method) => {
  const domain = method.path.slice(1).split('.').slice(0, 2).join('.');
  return fc.record({
    method: fc.constant(method),
    request: fc.oneof(
      { weight: 12, arbitrary: messageOf(method.requestType, domain, true) },
      fc.constantFrom([], [1], { userId: 'x'.repeat(1_100_000) }),
    ),
    call: calls,
    isBounded: fc.boolean(),
    does: fc.oneof(
      {
        weight: 4,
        arbitrary: messageOf(method.responseType, domain, false).map((response) => ({ response })),
      },
      errors.map((error) => ({ error })),
      fc.constantFrom({ response: [] }, { response: null }),
    ),
  });
});

/** Over gRPC, a read whose response cannot be encoded is sent again, as one that is cut. */
function isRetried({ method, does }: Script): boolean {
  if (!READ.test(method.path) || !('response' in does)) return false;
  try {
    method.responseSerialize(does.response as object);
    return false;
  } catch {
    return true;
  }
}
