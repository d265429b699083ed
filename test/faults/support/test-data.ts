// What users own before an attack begins: ordinary notes, and of the hostile one the worst that is legal.
import type { MaterialServiceDefinition } from '../../../generated/scheduling/v1/MaterialService.ts';
import type { SnoozeServiceDefinition } from '../../../generated/scheduling/v1/SnoozeService.ts';
import { clientsOf } from '../../../services/platform/grpc/client.ts';
import { toTimestamp } from '../../../services/platform/instants.ts';

const LARGE_BYTES = 255 * 1024;
const HUNDRED = 100;
const SNOOZES = 15;
const CALL = { requestId: 'data' };

export type TestData = ReturnType<typeof createTestData>;

export function createTestData(target: string) {
  const trust = { serviceTokens: [], tls: undefined };
  const connect = clientsOf('scheduling.v1', { target, trust, caller: 'data', deadlineMs: 30_000 });
  const materials = connect<MaterialServiceDefinition>('MaterialService');
  const snoozes = connect<SnoozeServiceDefinition>('SnoozeService');
  return {
    async create(userId: string, title: string, content: string): Promise<string> {
      const { material } = await materials.createMaterial({ userId, title, content }, CALL);
      return material?.materialId ?? '';
    },
    async snooze(userId: string, materialIds: string[]): Promise<void> {
      const snoozeUntilTime = toTimestamp(new Date(Date.now() + 3_600_000));
      await snoozes.snoozeMaterials({ userId, materialIds, snoozeUntilTime }, CALL);
    },
    close() {
      materials.close();
      snoozes.close();
    },
  };
}

/** 100 materials of 255 KiB, the newest of all and due; 300 small ones, many times snoozed. @returns the id of a small one. */
export async function createHostileData(data: TestData, userId: string): Promise<string> {
  const small: string[] = [];
  for (let index = 0; index < 3 * HUNDRED; index += 1)
    small.push(await data.create(userId, `Small ${index}`, `The body of number ${index}.`));
  for (let count = 0; count < SNOOZES; count += 1) await data.snooze(userId, small.slice(0, HUNDRED));
  await data.create(userId, 'One letter', 'a'.repeat(260_000));
  const text = 'a large text '.repeat(LARGE_BYTES / 13);
  for (let index = 0; index < HUNDRED; index += 1) await data.create(userId, `Large ${index}`, text);
  return small[0] ?? '';
}

/** 20 notes of ordinary length; their ids. */
export async function createOrdinaryData(data: TestData, userId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < 20; index += 1)
    ids.push(
      await data.create(userId, `Ordinary note ${index}`, 'What somebody wants to remember. '.repeat(10)),
    );
  return ids;
}
