// The materials of a user in the forms of npm run export, with the same bytes.
import type { ServiceError as GrpcError } from '@grpc/grpc-js';
import { writeCsv } from '../../services/moving/csv/write.ts';
import { type Exported, writeJsonl } from '../../services/moving/jsonl/write.ts';
import { invalidField } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { fromGrpcError } from '../../services/platform/grpc/status.ts';
import type { Clients } from '../clients.ts';

export type Form = {
  contentType: string;
  write(exported: AsyncIterable<Exported>): AsyncGenerator<string>;
};

const FORMS = new Map<string, Form>([
  ['jsonl', { contentType: 'application/jsonl', write: writeJsonl }],
  ['csv', { contentType: 'text/csv', write: (exported) => writeCsv(recordsOf(exported)) }],
]);

/** @throws INVALID_REQUEST, field as */
export function requireForm(name: string): Form {
  const form = FORMS.get(name);
  if (form === undefined) throw invalidField('as', `must be one of ${[...FORMS.keys()].join(', ')}.`);
  return form;
}

async function* recordsOf(exported: AsyncIterable<Exported>) {
  for await (const { wholeMaterial } of exported) if (wholeMaterial) yield wholeMaterial;
}

/** All that scheduling has of a user, material by material. @throws the error of a service that does not answer. */
export async function* exportOf(
  { userData }: Pick<Clients, 'userData'>,
  userId: string,
  call: CallOptions,
): AsyncGenerator<Exported> {
  const stream = userData.exportUserData({ userId, whole: true }, call);
  // Whoever reads no further ends the call, which then fails.
  stream.on('error', () => {});
  try {
    yield* stream;
  } catch (error) {
    throw fromGrpcError(error as GrpcError);
  } finally {
    stream.cancel();
  }
}
