// Everything that the services hold of a user, as one JSON object that is written while it is read.
import type { ClientReadableStream } from '@grpc/grpc-js';
import type { BatchGetKeyRequestsResponse } from '../../generated/accounts/v1/BatchGetKeyRequestsResponse.ts';
import type { User } from '../../generated/accounts/v1/User.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { messagesOf, pagesOf } from '../../services/platform/grpc/streams.ts';
import { epochMsOf, type Timestamp, toIsoText } from '../../services/platform/instants.ts';
import { partsOf } from '../../services/platform/parts.ts';
import type { Clients } from '../clients.ts';
import { MAX_KEYS } from '../loaders.ts';

/**
 * The parts of a JSON text: the user, then a list for each kind of record, with a line for each record. A record has the fields
 * of its message in proto/, its instants as texts in UTC. No key is among them, since no service holds one; of secret addresses,
 * only the unsubscribe links in what was kept for a sandbox user. With REMINDERS=off there is nothing of reminders.
 * @throws the error of a service that does not answer, also after the first parts.
 */
export async function* exportUser(clients: Clients, user: User, call: CallOptions): AsyncGenerator<string> {
  const { userId } = user;
  const { apiKeys, userEvents, userData, reminders } = clients;
  yield `{\n"user": ${toJson(user)}`;
  const keys = pagesOf((page) => apiKeys.listApiKeys({ userId, ...page }, call));
  const keyIds: string[] = [];
  yield* list('apiKeys', keys, ({ apiKeys: rows }) => {
    keyIds.push(...rows.map(({ apiKeyId }) => apiKeyId));
    return rows;
  });
  const requests: BatchGetKeyRequestsResponse[] = [];
  for (const apiKeyIds of partsOf(keyIds, MAX_KEYS))
    requests.push(await apiKeys.batchGetKeyRequests({ apiKeyIds }, call));
  yield* list('keyRequests', requests, ({ counts }) => counts);
  yield* list('refusedRequests', requests, ({ refused }) => refused);
  const events = pagesOf((page) => userEvents.listUserEvents({ userId, ...page }, call));
  yield* list('events', events, ({ events: rows }) => rows);
  yield* lists(SCHEDULING, () => userData.exportUserData({ userId }, call));
  if (reminders !== undefined) yield* lists(REMINDERS, () => reminders.exportUserData({ userId }, call));
  yield '\n}\n';
}

/** The names of lists, by the field of a stream's records. */
const SCHEDULING = {
  material: 'materials',
  importedMaterial: 'importedMaterials',
  review: 'reviews',
  snooze: 'snoozes',
  settings: 'settings',
  trainedParameters: 'trainedParameters',
};
const REMINDERS = {
  channels: 'reminderChannels',
  reminder: 'reminders',
  subscription: 'pushSubscriptions',
  delivery: 'reminderDeliveries',
};

async function* list<P>(
  name: string,
  pages: AsyncIterable<P> | Iterable<P>,
  rowsOf: (page: P) => readonly unknown[],
): AsyncGenerator<string> {
  yield `,\n"${name}": [`;
  let before = '\n';
  for await (const page of pages)
    for (const row of rowsOf(page)) {
      yield `${before}${toJson(row)}`;
      before = ',\n';
    }
  yield '\n]';
}

/** A list for each name, and for each other field that the records have: a stream holds all records of a kind together. */
async function* lists(
  names: Readonly<Record<string, string>>,
  call: () => ClientReadableStream<object>,
): AsyncGenerator<string> {
  const empty = new Map(Object.entries(names));
  let open = '';
  for await (const record of messagesOf(call)) {
    const [field = '', value] = Object.entries(record).find(([, held]) => held) ?? [];
    if (field === open) yield `,\n${toJson(value)}`;
    else yield `${open && '\n]'},\n"${names[field] ?? field}": [\n${toJson(value)}`;
    open = field;
    empty.delete(field);
  }
  yield `${open && '\n]'}${[...empty.values()].map((name) => `,\n"${name}": []`).join('')}`;
}

/** By their names, since a duration has the same fields. */
const toJson = (message: unknown): string =>
  JSON.stringify(message, (field, value: unknown) =>
    field.endsWith('Time') && isTimestamp(value) ? toIsoText(epochMsOf(value, 'a time')) : value,
  );

const isTimestamp = (value: unknown): value is Timestamp =>
  typeof value === 'object' && value !== null && 'seconds' in value && 'nanos' in value;
