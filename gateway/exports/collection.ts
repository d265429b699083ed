// The materials of a user as npm run export and the gateway write them, with the same bytes.
import { writeCsv } from '../../services/moving/csv/write.ts';
import { type Exported, writeJsonl } from '../../services/moving/jsonl/write.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { messagesOf } from '../../services/platform/grpc/streams.ts';
import type { Clients } from '../clients.ts';
import type { FileFormat } from './event-exports.ts';

/** All that scheduling has of a user, material by material. @throws the error of a service that does not answer. */
export const exportOf = (
  { userData }: Pick<Clients, 'userData'>,
  userId: string,
  call: CallOptions,
): AsyncGenerator<Exported> => messagesOf(() => userData.exportUserData({ userId, whole: true }, call));

export const writeMaterials = (
  exported: AsyncIterable<Exported>,
  format: FileFormat,
): AsyncGenerator<string> => (format === 'csv' ? writeCsv(recordsOf(exported)) : writeJsonl(exported));

export async function* recordsOf(exported: AsyncIterable<Exported>) {
  for await (const { wholeMaterial } of exported) if (wholeMaterial) yield wholeMaterial;
}
