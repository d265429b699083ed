// The materials of a user in the forms of npm run export, with the same bytes.
import { writeCsv } from '../../services/moving/csv/write.ts';
import { type Exported, writeJsonl } from '../../services/moving/jsonl/write.ts';
import { invalidField } from '../../services/platform/errors.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { messagesOf } from '../../services/platform/grpc/streams.ts';
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

export async function* recordsOf(exported: AsyncIterable<Exported>) {
  for await (const { wholeMaterial } of exported) if (wholeMaterial) yield wholeMaterial;
}

/** All that scheduling has of a user, material by material. @throws the error of a service that does not answer. */
export const exportOf = (
  { userData }: Pick<Clients, 'userData'>,
  userId: string,
  call: CallOptions,
): AsyncGenerator<Exported> => messagesOf(() => userData.exportUserData({ userId, whole: true }, call));
