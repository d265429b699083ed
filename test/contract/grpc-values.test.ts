// What no message may hold is refused: every instant and every user ID of every request of every rpc.
import { Client, credentials, type ServiceError as GrpcError } from '@grpc/grpc-js';
import type { MessageTypeDefinition, MethodDefinition, ServiceDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { afterAll, describe, expect } from 'vitest';
import type { ServiceError } from '../../services/platform/errors.ts';
import { fromGrpcError } from '../../services/platform/grpc/status.ts';
import { loadProto } from '../../services/platform/protobuf/load.ts';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(prepare);
afterAll(stopAll);

test('the rpcs have texts and instants to be refused', () => {
  const places = (isWanted: (field: Field) => boolean) =>
    methods.flatMap(({ name, method, definitions }) =>
      placesIn([`${name}.v1`, requestOf(method)], definitions, isWanted).map(({ path }) => path),
    );
  expect(places(isText)).toEqual(expect.arrayContaining(['user_id', 'update_mask.paths']));
  expect(places(isInstant)).toEqual(expect.arrayContaining(['snooze_until_time', 'window.as_of_time']));
});

test('a text of U+FFFD is a text; the ends of a second and of the years 1 to 9999 are instants', async ({
  user: { userId },
}) => {
  const text = new TextEncoder();
  const methodOf = (path: string) =>
    methods.find(({ method }) => method.path.endsWith(path))?.method as Method;
  const owner = encode([1], text.encode(userId));
  const title = encode([2], text.encode('\ufffd\u{10ffff}'));
  const create = methodOf('/CreateMaterial');
  expect(await send('scheduling', create, Buffer.concat([owner, title]))).toBe('answered');
  const window = Buffer.concat([
    encode([1], text.encode('UTC')),
    encode([2], timestamp({ seconds: 1_780_000_000, nanos: 999_999_999 })),
  ]);
  const forecast = Buffer.concat([owner, encode([2], window)]);
  expect(await send('scheduling', methodOf('/GetForecast'), forecast)).toBe('answered');
  const changed = methodOf('/ListChangedUsers');
  for (const instant of [{ seconds: -62_135_596_800 }, { seconds: 253_402_300_799, nanos: 999_999_999 }])
    expect(await send('accounts', changed, encode([1], timestamp(instant)))).toBe('answered');
  // An unknown field is left to versions that know it.
  const unknown = encode([500], Uint8Array.of(0xff));
  expect(await send('scheduling', methodOf('/GetForecast'), Buffer.concat([forecast, unknown]))).toBe(
    'answered',
  );
});

const PROTOS = ['scheduling', 'accounts'] as const;

const protos = PROTOS.map((name) => ({ name, definitions: loadProto(`${name}.v1`) }));

const methods = protos.flatMap(({ name, definitions }) =>
  Object.entries(definitions)
    .filter(([, definition]) => !('format' in definition))
    .flatMap(([, service]) => Object.values(service as ServiceDefinition))
    .map((method) => ({ name, method: method as Method, definitions })),
);

describe.each(methods.map(({ method }, index) => [method.path, index] as const))('%s', (_, index) => {
  test('refuses instants out of range', async () => {
    for (const { path, numbers } of placesIn(request, definitions, isInstant)) {
      for (const instant of NO_INSTANTS) {
        const answer = await send(name, method, encode(numbers, timestamp(instant)));
        // What else the message lacks may be found first.
        expect(answer, `${path} ${JSON.stringify(instant)}`).toMatch(/^(INVALID_REQUEST|NOT_FOUND)/);
      }
    }
  });

  test('refuses a user ID that is no UUID', async () => {
    // That nothing is to be changed is said first.
    const own = method.path.endsWith('/UpdateMaterial') ? 'update_mask' : 'user_id';
    const refused = name === 'accounts' ? 'NOT_FOUND' : `INVALID_REQUEST ${own}`;
    for (const { path, numbers } of placesIn(request, definitions, isText)) {
      if (path !== 'user_id') continue;
      expect(await send(name, method, encode(numbers, Buffer.from('x')))).toBe(refused);
    }
  });

  const { name, method, definitions } = methods[index] ?? (methods[0] as (typeof methods)[0]);
  const request = [`${name}.v1`, requestOf(method)] as const;
});

const clients = new Map<string, Client>();

function prepare({ system }: Given<'system'>): void {
  for (const [name, target] of [
    ['scheduling', system.schedulingTarget],
    ['accounts', system.accountsTarget],
  ] as const)
    clients.set(name, new Client(target, credentials.createInsecure()));
}

function stopAll(): void {
  for (const client of clients.values()) client.close();
}

/** The fields of a message of a package, and of the messages in it, for which `isWanted`. */
function placesIn(
  [packageName, typeName]: readonly [string, string],
  definitions: ReturnType<typeof loadProto>,
  isWanted: (field: Field) => boolean,
): Place[] {
  const found = definitions[typeName] ?? definitions[`${packageName}.${typeName}`];
  const definition = found as MessageTypeDefinition<object, object>;
  // The descriptor that proto-loader keeps with every message: google.protobuf.DescriptorProto.
  const { field: fields } = definition.type as unknown as { field: Field[] };
  return fields.flatMap((field) => {
    const path = field.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (isWanted(field)) return [{ path, numbers: [field.number] }];
    if (field.type !== 'TYPE_MESSAGE') return [];
    return placesIn([packageName, field.typeName], definitions, isWanted).map((place) => ({
      path: `${path}.${place.path}`,
      numbers: [field.number, ...place.numbers],
    }));
  });
}

/** A message that holds nothing but `value`, of wire type 2, where `numbers` lead. */
function encode(numbers: readonly number[], value: Uint8Array): Uint8Array {
  return numbers.reduceRight((inner, number) => {
    const writer = new protobuf.BufferWriter();
    return writer
      .uint32((number << 3) | 2)
      .bytes(inner)
      .finish();
  }, value);
}

function timestamp({ seconds = 0, nanos = 0 }): Uint8Array {
  return new protobuf.BufferWriter().uint32(8).int64(seconds).uint32(16).int32(nanos).finish();
}

/** "REASON field", or "answered". */
function send(name: string, method: Method, bytes: Uint8Array): Promise<string> {
  const client = clients.get(name);
  const serialize = () => Buffer.from(bytes);
  const tell = (error: ServiceError) => `${error.reason} ${error.field ?? ''}`.trim();
  return new Promise((resolve) => {
    if (method.responseStream) {
      const stream = client?.makeServerStreamRequest(method.path, serialize, (it) => it, {});
      stream?.on('data', () => {});
      stream?.on('end', () => resolve('answered'));
      stream?.on('error', (error) => resolve(tell(fromGrpcError(error as GrpcError))));
      return;
    }
    client?.makeUnaryRequest(
      method.path,
      serialize,
      (it) => it,
      {},
      (error) => resolve(error ? tell(fromGrpcError(error)) : 'answered'),
    );
  });
}

const isText = ({ type }: Field) => type === 'TYPE_STRING';

const isInstant = ({ typeName }: Field) => typeName === 'google.protobuf.Timestamp';

const requestOf = (method: Method) => (method.requestType.type as unknown as { name: string }).name;

type Method = MethodDefinition<object, object>;
type Field = { name: string; number: number; type: string; typeName: string };
/** Where a field stands: its name as an error says it, and the numbers that lead to it. */
type Place = { path: string; numbers: readonly number[] };

const NO_INSTANTS = [
  { nanos: 2_000_000_000 },
  { nanos: 1_000_000_000 },
  { nanos: -1 },
  { seconds: 253_402_300_800 },
  { seconds: -62_135_596_801 },
  { seconds: Number.MAX_SAFE_INTEGER },
];
