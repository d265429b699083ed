// CPU of a call over gRPC and of one without a wire, both ends in this process, in turn: node test/bench/local-calls.ts
import { pino } from 'pino';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { startGrpcServer } from '../../services/platform/grpc/server.ts';
import { loadProto } from '../../services/platform/protobuf/load.ts';

const ROUNDS = 7;
const AT_ONCE = 16;
const trust = { serviceTokens: [], tls: undefined };
const time = { seconds: 1_780_000_000, nanos: 123_000_000 };
const id = '0190b2c4-7a3e-7cc1-9d2b-3f5a8e6d1c2b';
const material = (bytes: number) => ({
  materialId: id,
  title: 'Capital of Perú',
  type: 'MATERIAL_TYPE_FLASHCARD',
  content: 'x'.repeat(bytes),
  intervalDays: 6,
  easeFactor: 2.5,
  repetitions: 2,
  nextReviewTime: time,
  createTime: time,
  updateTime: time,
  revision: 4,
});
const list = (count: number, bytes: number) => ({
  materials: Array.from({ length: count }, () => material(bytes)),
  nextPageToken: '',
});
const CASES = [
  { name: 'one material of 200 bytes', response: list(1, 200), calls: 2000 },
  { name: '20 materials of 200 bytes', response: list(20, 200), calls: 1000 },
  { name: '20 materials of 10,000 bytes', response: list(20, 10_000), calls: 500 },
];

let response: object = {};
const rpcs = Object.keys(loadProto('scheduling.v1')['scheduling.v1.MaterialService'] ?? {});
const server = await startGrpcServer({
  ...{ domain: 'scheduling.v1', host: '127.0.0.1', port: 0, trust, logger: pino({ level: 'silent' }) },
  services: [
    {
      service: 'MaterialService',
      handlers: Object.fromEntries(rpcs.map((rpc) => [rpc, async () => response])),
    },
  ],
});
const to = { target: `127.0.0.1:${server.port}`, trust, caller: 'bench', deadlineMs: 10_000 };
const clients = {
  gRPC: clientsOf('scheduling.v1', to)<MaterialServiceDefinition>('MaterialService'),
  local: clientsOf('scheduling.v1', {
    ...to,
    locals: { 'scheduling.v1': server.local },
  })<MaterialServiceDefinition>('MaterialService'),
};

/** Microseconds of CPU a call. */
async function measure(client: (typeof clients)['gRPC'], calls: number): Promise<number> {
  const began = process.cpuUsage();
  const caller = async () => {
    for (let count = 0; count < calls / AT_ONCE; count += 1)
      await client.listDueMaterials({ userId: id, pageSize: 20 }, { requestId: 'bench' });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  const { user, system } = process.cpuUsage(began);
  return (user + system) / calls;
}

const medianOf = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

for (const { name, calls, ...answer } of CASES) {
  response = answer.response;
  const found = { gRPC: [] as number[], local: [] as number[] };
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const way of ['gRPC', 'local'] as const) {
      const microseconds = await measure(clients[way], calls);
      // The first round warms up.
      if (round > 0) found[way].push(microseconds);
    }
  const [wire, local] = [medianOf(found.gRPC), medianOf(found.local)];
  process.stdout.write(`${name}: ${wire.toFixed(0)} us over gRPC, ${local.toFixed(0)} us local\n`);
}
for (const client of Object.values(clients)) client.close();
await server.close(500);
