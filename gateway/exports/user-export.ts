// Everything that the services hold of a user, as one JSON object that is written while it is read.
import type { ClientReadableStream, ServiceError as GrpcError } from '@grpc/grpc-js';
import type { User } from '../../generated/accounts/v1/User.ts';
import type { CallOptions } from '../../services/platform/grpc/client.ts';
import { fromGrpcError } from '../../services/platform/grpc/status.ts';
import { toIsoText } from '../../services/platform/instants.ts';
import { epochMsOf, type Timestamp } from '../../services/platform/protobuf/timestamps.ts';
import type { Clients } from '../clients.ts';

const PAGE_SIZE = 100;

/**
 * The parts of a JSON text: the user, then a list for each kind of record, with a line for each record. A record has the fields of its
 * message in proto/, its instants as texts in UTC. No key and no secret address is among them, since no service holds one. With
 * REMINDERS=off there is nothing of reminders.
 * @throws the error of a service that does not answer, also after the first parts.
 */
export async function* exportUser(clients: Clients, user: User, call: CallOptions): AsyncGenerator<string> {
  const { userId } = user;
  const { apiKeys, userEvents, userData, reminders } = clients;
  yield `{\n"user": ${toJson(user)}`;
  yield* list(
    'apiKeys',
    pagesOf(async (page) => {
      const { apiKeys: rows, nextPageToken } = await apiKeys.listApiKeys({ userId, ...page }, call);
      return { rows, nextPageToken };
    }),
  );
  yield* list(
    'events',
    pagesOf(async (page) => {
      const { events: rows, nextPageToken } = await userEvents.listUserEvents({ userId, ...page }, call);
      return { rows, nextPageToken };
    }),
  );
  yield* lists(SCHEDULING, userData.exportUserData({ userId }, call));
  if (reminders !== undefined) yield* lists(REMINDERS, reminders.exportUserData({ userId }, call));
  yield '\n}\n';
}

/** The names of lists, by the field of a stream's records. */
const SCHEDULING = { material: 'materials', review: 'reviews', snooze: 'snoozes' };
const REMINDERS = {
  channels: 'reminderChannels',
  reminder: 'reminders',
  subscription: 'pushSubscriptions',
  delivery: 'reminderDeliveries',
};

/** All rows of a list that a service answers in pages. */
async function* pagesOf<T>(
  read: (page: {
    pageSize: number;
    pageToken: string;
  }) => Promise<{ rows: readonly T[]; nextPageToken: string }>,
): AsyncGenerator<T> {
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: { rows: readonly T[]; nextPageToken: string } = await read({
      pageSize: PAGE_SIZE,
      pageToken,
    });
    yield* page.rows;
    pageToken = page.nextPageToken || undefined;
  }
}

async function* list(name: string, rows: AsyncIterable<unknown>): AsyncGenerator<string> {
  yield `,\n"${name}": [`;
  let before = '\n';
  for await (const row of rows) {
    yield `${before}${toJson(row)}`;
    before = ',\n';
  }
  yield '\n]';
}

/** A list for each name, and for each other field that the records have: a stream holds all records of a kind together. */
async function* lists(
  names: Readonly<Record<string, string>>,
  stream: ClientReadableStream<object>,
): AsyncGenerator<string> {
  // Whoever reads no further ends the call, which then fails.
  stream.on('error', () => {});
  const empty = new Map(Object.entries(names));
  try {
    let open = '';
    for await (const record of stream) {
      const [field = '', value] = Object.entries(record).find(([, held]) => held) ?? [];
      if (field === open) yield `,\n${toJson(value)}`;
      else yield `${open && '\n]'},\n"${names[field] ?? field}": [\n${toJson(value)}`;
      open = field;
      empty.delete(field);
    }
    yield `${open && '\n]'}${[...empty.values()].map((name) => `,\n"${name}": []`).join('')}`;
  } catch (error) {
    throw fromGrpcError(error as GrpcError);
  } finally {
    stream.cancel();
  }
}

const toJson = (message: unknown): string =>
  JSON.stringify(message, (_field, value: unknown) =>
    isTimestamp(value) ? toIsoText(epochMsOf(value, 'a time')) : value,
  );

const isTimestamp = (value: unknown): value is Timestamp =>
  typeof value === 'object' && value !== null && 'seconds' in value && 'nanos' in value;
