// What tools learn from a gRPC port: reflection that strict ones accept, and the health of each service.
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { service as healthDefinition } from 'grpc-health-check';
import { describe, expect } from 'vitest';
import { BUF, buildDescriptors } from '../../../scripts/build-descriptors.ts';
import { createGrpcClient } from '../../../services/platform/grpc/client.ts';
import { type Given, test } from '../../fixtures.ts';
import { root } from '../../support/processes.ts';
import { hasPython, PYTHON } from '../../support/python.ts';

test.beforeAll(takeServices);

test('the descriptors that are checked in are those that buf builds; npm run generate writes them', () => {
  expect(readFileSync(join(root, 'proto/descriptors.binpb')).equals(buildDescriptors())).toBe(true);
});

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  const curl = async (target: string, ...args: string[]) => {
    const reflect = ['--reflect-protocol', `grpc-${version}`];
    const options = ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', ...reflect, ...args];
    const { stdout } = await run(BUF, [...options, target], { cwd: root });
    return stdout.trim().split('\n');
  };

  test('lists all methods for buf curl, and no others', async () => {
    for (const [name, target] of [
      ['accounts.v1', system.accountsTarget],
      ['scheduling.v1', system.schedulingTarget],
    ] as const) {
      const declared = methodsIn(name);
      expect(declared.length).toBeGreaterThan(12);
      const methods = await curl(`http://${target}`, '--list-methods');
      expect(methods).toEqual([...declared, ...HEALTH].toSorted());
    }
  });

  // The health is described beside ours, for either version alike.
  test.runIf(version === 'v1')('lets buf curl ask for the health', async () => {
    const method = `http://${system.accountsTarget}/grpc.health.v1.Health/Check`;
    const data = ['-d', '{"service":"accounts.v1.UserService"}'];
    expect(JSON.parse((await curl(method, ...data)).join(''))).toEqual({ status: 'SERVING' });
  });

  test('lets buf curl call a method', async ({ user: { userId } }) => {
    const data = ['-d', JSON.stringify({ userId })];
    const method = `http://${system.accountsTarget}/accounts.v1.ApiKeyService/ListApiKeys`;
    expect(JSON.parse((await curl(method, ...data)).join(''))).toMatchObject({ apiKeys: [{ userId }] });
  });
});

test.runIf(hasPython(['grpc', 'google.protobuf'], 'python3-grpcio'))(
  'reflection lets Python’s gRPC library, which is in C++, call a method, in either version',
  async () => {
    const { stdout } = await run(PYTHON, ['-c', PROGRAM, system.schedulingTarget, 'v1', 'v1alpha']);
    expect(stdout).toBe('v1 0 MaterialView\nv1alpha 0 MaterialView\n');
  },
);

describe('health', () => {
  type Definition = { Check: MethodDefinition<{ service: string }, { status: string }> };
  const check = async (service: string) => {
    const client = createGrpcClient(healthDefinition as unknown as Definition, {
      target: system.schedulingTarget,
      trust: system.trust,
      deadlineMs: 5000,
      caller: 'test',
    });
    try {
      return (await client.check({ service }, { requestId: 'test' })).status;
    } finally {
      client.close();
    }
  };

  test.each(['', 'scheduling.v1.MaterialService', 'scheduling.v1.StatsService'])(
    'of "%s" is known',
    async (service) => {
      expect(await check(service)).toBe('SERVING');
    },
  );

  test('of a service that is not here is not found', async () => {
    await expect(check('accounts.v1.UserService')).rejects.toMatchObject({
      cause: { code: status.NOT_FOUND },
    });
  });
});

const run = promisify(execFile);
const HEALTH = ['Check', 'List', 'Watch'].map((method) => `grpc.health.v1.Health/${method}`);

let system: Given<'system'>['system'];

function takeServices({ system: shared }: Given<'system'>): void {
  system = shared;
}

/** The rpcs that the proto files of a package declare, as package.Service/Method, in the order of buf. */
function methodsIn(name: string): string[] {
  const files = globSync(`proto/${name.replace('.', '/')}/*.proto`, { cwd: root });
  const methods = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const [, service] = /^service (\w+)/m.exec(text) ?? [];
    return [...text.matchAll(/^ {2}rpc (\w+)/gm)].map(([, method]) => `${name}.${service}/${method}`);
  });
  return methods.toSorted();
}

/** Reads the descriptors into the pool of Google's own library, which checks them, and calls an rpc that it found there. */
const PROGRAM = `
import sys, grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

target, *versions = sys.argv[1:]
channel = grpc.insecure_channel(target)

# The name of the newer versions is message_factory.GetMessageClass; Debian 12 has this one.
def class_of(descriptor):
    newer = getattr(message_factory, "GetMessageClass", None)
    return newer(descriptor) if newer else message_factory.MessageFactory().GetPrototype(descriptor)

def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)

def text_field(number, text):
    return varint(number << 3 | 2) + varint(len(text)) + text.encode()

# Of a reflection response, only its list of descriptors: field 4, and in it field 1.
schema = descriptor_pb2.FileDescriptorProto(name="answer.proto", syntax="proto3", package="answer")
files = schema.message_type.add(name="Files")
files.field.add(name="files", number=1, type=12, label=3)
answer = schema.message_type.add(name="Answer")
answer.field.add(name="files", number=4, type=11, type_name=".answer.Files", label=1)
own = descriptor_pool.DescriptorPool()
own.Add(schema)
Answer = class_of(own.FindMessageTypeByName("answer.Answer"))

for version in versions:
    ask = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                                request_serializer=lambda data: data, response_deserializer=Answer.FromString)
    symbol = "scheduling.v1.MaterialService"
    found = {}
    for response in ask(iter([text_field(4, symbol)]), timeout=20):
        for data in response.files.files:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            found[file.name] = file
    pool = descriptor_pool.DescriptorPool()

    def add(name):
        if name in found:
            file = found.pop(name)
            for imported in file.dependency:
                add(imported)
            pool.Add(file)

    for name in list(found):
        add(name)
    method = pool.FindServiceByName(symbol).FindMethodByName("ListMaterials")
    Request, Response = (class_of(each) for each in (method.input_type, method.output_type))
    call = channel.unary_unary(f"/{symbol}/{method.name}", request_serializer=Request.SerializeToString,
                               response_deserializer=Response.FromString)
    response = call(Request(user_id="01900000-0000-7000-8000-000000000000", page_size=5), timeout=20)
    print(version, len(response.materials), Request.DESCRIPTOR.fields_by_name["view"].enum_type.name)
`;
