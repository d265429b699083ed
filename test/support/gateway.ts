// A gateway over a system of the test's own, on a free port, which counts the RPCs that it makes.
import { randomBytes } from 'node:crypto';
import { parseToken } from '../../gateway/access/tokens.ts';
import { buildGateway } from '../../gateway/app.ts';
import { type Clients, closeClients, createClients } from '../../gateway/clients.ts';
import { buildGatewaySchema } from '../../gateway/schema/schema.ts';
import { type AuditEntry, createLogger } from '../../services/platform/logging/logger.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import type { TestSystem } from './system.ts';

type GraphqlAnswer = {
  status: number;
  headers: Headers;
  // Tests know the shape of what they asked for.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is that of each query
  data: any;
  errors: { message: string; path?: string[]; extensions: { code: string; field?: string } }[] | undefined;
};
export type TestGateway = Awaited<ReturnType<typeof startTestGateway>>;

export const OPERATOR = randomBytes(32).toString('hex');
export const VIEWER = randomBytes(32).toString('hex');

/** Stands around an RPC that is made: `make` makes it. */
export type Around = (rpc: string, make: () => unknown, request: unknown) => unknown;

/** Of all: to build one takes almost half of a start. */
const schema = buildGatewaySchema();

/** `system`: where the services are. */
export async function startTestGateway(
  system: Pick<TestSystem, 'schedulingTarget' | 'accountsTarget' | 'trust'> & { remindersTarget?: string },
  logger = createLogger('test', 'silent'),
  around: Around = (_rpc, make) => make(),
  telemetry = createTelemetry(),
) {
  const rpcs: string[] = [];
  const requests: { view?: string }[] = [];
  const audited: AuditEntry[] = [];
  const real = createClients(system);
  const tokens = [`olga:operator:${OPERATOR}`, `vic:viewer:${VIEWER}`].flatMap(
    (entry) => parseToken(entry) ?? [],
  );
  const app = await buildGateway({
    schema,
    clients: watched(
      real,
      (rpc, request) => {
        rpcs.push(rpc);
        requests.push(request as { view?: string });
      },
      around,
    ),
    tokens,
    audit: (entry) => audited.push(entry),
    logger,
    telemetry,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const origin = `http://127.0.0.1:${port}`;
  const send = async (body: string, headers: Record<string, string> = {}): Promise<GraphqlAnswer> => {
    const response = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR}`, ...headers },
      body,
    });
    return {
      status: response.status,
      headers: response.headers,
      ...((await response.json()) as object),
    } as GraphqlAnswer;
  };
  const query = (text: string, variables: object = {}, token = OPERATOR) =>
    send(JSON.stringify({ query: text, variables }), { authorization: `Bearer ${token}` });
  return {
    origin,
    clients: real,
    server: app.server,
    audited,
    send,
    query,
    /** What the operator's mutation of this name answers. `fields`: of its answer. @throws Error where it is refused */
    async mutate(name: string, input: object, fields = '__typename') {
      const [argument] = schema.getMutationType()?.getFields()[name]?.args ?? [];
      const text = `mutation ($input: ${argument?.type}) { ${name}(input: $input) { ${fields} } }`;
      const { data, errors } = await query(text, { input });
      if (errors !== undefined) throw new Error(JSON.stringify(errors));
      return data[name];
    },
    /** How many are open to it. */
    connections: () =>
      new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count))),
    /** The names of the RPCs that `work` leads to. */
    async rpcsOf(work: () => Promise<unknown>): Promise<string[]> {
      rpcs.length = 0;
      await work();
      return [...rpcs];
    },
    /** What is asked of the services by the RPCs that `work` leads to. */
    async requestsOf(work: () => Promise<unknown>): Promise<{ view?: string }[]> {
      requests.length = 0;
      await work();
      return [...requests];
    },
    async stop() {
      await app.close();
      closeClients(real);
    },
  };
}

/** The same clients, telling the name and request of every RPC before it is made; `before` may throw in its place. */
export function watched(
  clients: Clients,
  before: (rpc: string, request: unknown) => void,
  around: Around = (_rpc, make) => make(),
): Clients {
  const watch = <C extends object>(client: C): C =>
    new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function' || name === 'close') return member;
        return (...args: unknown[]) => {
          before(String(name), args[0]);
          return around(String(name), () => member.apply(target, args), args[0]);
        };
      },
    });
  const { users, apiKeys, userEvents, materials, reviews, snoozes, stats, learners, userData, reminders } =
    clients;
  return {
    users: watch(users),
    apiKeys: watch(apiKeys),
    userEvents: watch(userEvents),
    materials: watch(materials),
    reviews: watch(reviews),
    snoozes: watch(snoozes),
    stats: watch(stats),
    learners: watch(learners),
    userData: watch(userData),
    reminders: reminders && watch(reminders),
  };
}

/** Asks again where a busy machine leaves a call no time. */
export async function untilAnswered(ask: () => Promise<GraphqlAnswer>): Promise<GraphqlAnswer> {
  const answer = await ask();
  const isLate = answer.errors?.some(({ extensions }) => extensions.code === 'UNAVAILABLE');
  return isLate ? untilAnswered(ask) : answer;
}
