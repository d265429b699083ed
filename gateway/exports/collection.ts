// The materials of a user in the forms of npm run export, with the same bytes.
import type { ServiceError as GrpcError } from '@grpc/grpc-js';
import type { MaterialRecord } from '../../generated/scheduling/v1/MaterialRecord.ts';
import { writeCsv } from '../../services/moving/csv/write.ts';
import { writeJsonl } from '../../services/moving/jsonl/write.ts';
import { invalidField } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { fromGrpcError } from '../../services/platform/grpc/status.ts';
import type { Clients } from '../clients.ts';

export type Form = {
  contentType: string;
  write(records: AsyncIterable<MaterialRecord>): AsyncIterable<string>;
};

const FORMS = new Map<string, Form>([
  ['jsonl', { contentType: 'application/jsonl', write: writeJsonl }],
  ['csv', { contentType: 'text/csv', write: writeCsv }],
]);

/** @throws INVALID_REQUEST, field as */
export function requireForm(name: string): Form {
  const form = FORMS.get(name);
  if (form === undefined) throw invalidField('as', `must be one of ${[...FORMS.keys()].join(', ')}.`);
  return form;
}

/** All materials of a user with what belongs to them. @throws the error of a service that does not answer. */
export async function* recordsOf(
  { userData }: Pick<Clients, 'userData'>,
  userId: string,
  call: CallOptions,
): AsyncGenerator<MaterialRecord> {
  const stream = userData.exportUserData({ userId, whole: true }, call);
  // Whoever reads no further ends the call, which then fails.
  stream.on('error', () => {});
  try {
    for await (const { wholeMaterial } of stream) if (wholeMaterial) yield wholeMaterial;
  } catch (error) {
    throw fromGrpcError(error as GrpcError);
  } finally {
    stream.cancel();
  }
}
