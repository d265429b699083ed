// The root fields of queries: users, materials, a search, all learners, and what needs attention.
import type { FindApiKeysRequestInput } from '../../generated/accounts/v1/FindApiKeysRequest.ts';
import type { QueryAuditArgs, QueryResolvers, Resolvers } from '../../generated/gateway/resolvers.ts';
import { hasReason, invalidRequest } from '../../services/platform/errors.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { containsKey } from '../../services/platform/redaction.ts';
import { readIdEnding, readUuid } from '../../services/platform/uuid.ts';
import { requireReminders } from '../clients.ts';
import {
  type Connection,
  type Page,
  type PageArguments,
  type PageRequest,
  readConnection,
} from '../connections.ts';
import type { GatewayContext } from '../context.ts';
import { MAX_EMAIL_CHARACTERS } from '../loaders.ts';
import { given, required, toTime } from '../mapper.ts';
import type { ApiKeyNode, AuditEventNode, SearchHitNode } from '../nodes.ts';
import { materialOf } from './material.ts';
import { toEventNode } from './timeline.ts';

const Query: QueryResolvers = {
  caller: (_parent, _arguments, { identity: { name, role } }) => ({
    name,
    role: role === 'operator' ? 'OPERATOR' : 'VIEWER',
  }),

  user(_parent, { id, email }, { loaders }) {
    if ((id ?? null) !== null && (email ?? null) !== null) {
      throw invalidRequest('email', 'Only one of id and email may be given.');
    }
    if ((id ?? null) === null && (email ?? null) === null) {
      throw invalidRequest('id', 'One of id and email must be given.');
    }
    return loaders.user(typeof id === 'string' ? { userId: id } : { email: email ?? '' });
  },

  users: (_parent, page, { clients, budget }) =>
    readConnection(page, async (request) => {
      const { users, nextPageToken } = await budget.read(clients.users.listUsers, request);
      return { rows: users, nextPageToken };
    }),

  search: (_parent, { text }, context) => search(context, text.trim()),

  overview: (_parent, _arguments, { clients, budget }) => budget.read(clients.learners.getOverview, {}),

  learners: (_parent, { order, filter, ...page }, { budget, clients }) =>
    readConnection(page, async (request) => {
      const { learners, nextPageToken } = await budget.read(clients.learners.listLearners, {
        ...request,
        ...given({ order, filter }),
      });
      return { rows: learners, nextPageToken };
    }),

  audit: (_parent, { actor, action, since, until, ...page }, context) =>
    readAudit(context, { actor, action, since, until }, page),

  expiringApiKeys: (_parent, page, { budget, clients }) =>
    readCounted(page, async (request) => {
      const { apiKeys, ...rest } = await budget.read(clients.apiKeys.listExpiringApiKeys, request);
      return { ...rest, rows: apiKeys.map((apiKey) => ({ apiKey })) };
    }),

  refusedApiKeys: (_parent, page, { budget, clients }) =>
    readCounted(page, async (request) => {
      const { apiKeys, ...rest } = await budget.read(clients.apiKeys.listRefusedApiKeys, request);
      return { ...rest, rows: apiKeys.map((apiKey) => ({ apiKey })) };
    }),

  emailOffUsers: (_parent, page, { budget, clients }) =>
    readCounted(page, async (request) => {
      const { users, ...rest } = await budget.read(requireReminders(clients).listEmailOffUsers, request);
      return { ...rest, rows: users };
    }),

  material: (_parent, { userId, id }, context) => materialOf(context, { userId, materialId: id }),

  async pushPublicKey(_parent, _arguments, { clients, budget }) {
    const { publicKey } = await budget.read(requireReminders(clients).getPushPublicKey, {});
    return publicKey || null;
  },
};

export type AuditFilter = { [K in 'actor' | 'action' | 'since' | 'until']: QueryAuditArgs[K] | undefined };

/** What was done to all users, newest first. */
export function readAudit(
  { budget, clients }: GatewayContext,
  { actor, action, since, until }: AuditFilter,
  page: PageArguments,
): Promise<Connection<AuditEventNode>> {
  return readConnection(page, async (request) => {
    const { events, nextPageToken } = await budget.read(clients.userEvents.listAllEvents, {
      ...request,
      actor: actor ?? '',
      action: action ?? '',
      sinceTime: since ? toTimestamp(since) : null,
      untilTime: until ? toTimestamp(until) : null,
    });
    const rows = events.map((event) => ({ userId: event.userId, event: toEventNode(event) }));
    return { rows, nextPageToken };
  });
}

/** A connection that also says how many there are in all pages. */
async function readCounted<T>(
  page: PageArguments,
  read: (request: PageRequest) => Promise<Page<T> & { totalSize: number }>,
): Promise<Pick<Connection<T>, 'nodes' | 'pageInfo'> & { totalCount: number }> {
  let totalCount = 0;
  const { nodes, pageInfo } = await readConnection(page, async (request) => {
    const { totalSize, ...answer } = await read(request);
    totalCount = totalSize;
    return answer;
  });
  return { nodes, pageInfo, totalCount };
}

const MAX_HITS = 10;
const KEY = /^rmk_live_/;
/** What accounts keeps of a key. The rest of a whole key goes no further. */
const PREFIX_CHARACTERS = 17;

/** `user`: where it has been read. */
type Found = { userId: string } & Partial<SearchHitNode>;

/** Longer than the address of any page. */
const MAX_ASKED_CHARACTERS = 2000;
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const REQUEST_ID = /^[\w.-]{1,128}$/;

/**
 * Users, materials and keys by what support staff have at hand: an ID or its ending, the beginning of a key, a part of an address or
 * name, the ID of a request, the address of a page. At most ten hits; none for a text that nothing can have.
 */
async function search(context: GatewayContext, asked: string): Promise<SearchHitNode[]> {
  if (asked.length > MAX_ASKED_CHARACTERS) return [];
  const text = textOf(asked);
  if (KEY.test(text)) {
    const keyPrefix = text.slice(0, PREFIX_CHARACTERS);
    if (!/^rmk_live_[0-9A-Za-z]*$/.test(keyPrefix)) return [];
    return withUsers(context, await findKeys(context, { keyPrefix, pageSize: MAX_HITS }));
  }
  if (text === '' || text.length > MAX_EMAIL_CHARACTERS) return [];
  const id = readUuid(text);
  const parts = await Promise.allSettled([
    ...(id === undefined ? findByText(context, text) : findById(context, id)),
    ...requestIdsOf(text).map((requestId) => findByRequest(context, requestId)),
  ]);
  const found = parts.flatMap((part) => (part.status === 'fulfilled' ? part.value : []));
  const hits = (await withUsers(context, found)).slice(0, MAX_HITS);
  const failed = parts.find((part) => part.status === 'rejected');
  // If a service is unavailable, the hits of the others are still of use.
  if (failed && !(hits.length > 0 && hasReason(failed.reason, 'UNAVAILABLE'))) throw failed.reason;
  return hits;
}

/**
 * What is meant: of the address of a page or of the API, the last ID in it; of "Ada <ada@example.com>", the e-mail address; else the text
 * without what stands around it where it was copied.
 */
function textOf(asked: string): string {
  const id = asked.includes('/') && asked.match(ID)?.at(-1);
  if (id) return id;
  const [, email] = /(?:<|^mailto:)([^<>@\s]+@[^<>@\s]+?)>?$/.exec(asked) ?? [];
  if (email) return email;
  return asked.replace(/^["'(…]+|^\.{3}|[)"',;.:!?]+$/g, '');
}

const ofKey = (apiKey: ApiKeyNode): Found => ({ userId: apiKey.userId, apiKey });

function findByText(context: GatewayContext, text: string): Promise<Found[]>[] {
  const users = namesOf(text).map((name) => findUsers(context, name));
  const idEnding = readIdEnding(text);
  if (idEnding === undefined) return users;
  const request = { idEnding, pageSize: MAX_HITS };
  return [...users, findKeys(context, request), findMaterials(context, request)];
}

/** Of "Lovelace, Ada", the names in the order in which they are kept, too. */
function namesOf(text: string): string[] {
  const [, lastName, firstName] = /^([^,@]+), *([^,@\s][^,@]*)$/.exec(text) ?? [];
  return firstName === undefined ? [text] : [text, `${firstName} ${lastName}`];
}

async function findUsers({ budget, clients }: GatewayContext, text: string): Promise<Found[]> {
  const { users } = await budget.read(clients.users.searchUsers, { text, pageSize: MAX_HITS });
  return users.map((user) => ({ userId: user.userId, user }));
}

async function findKeys(
  { budget, clients }: GatewayContext,
  request: FindApiKeysRequestInput,
): Promise<Found[]> {
  const { apiKeys } = await budget.read(clients.apiKeys.findApiKeys, request);
  return apiKeys.map(ofKey);
}

async function findMaterials(
  context: GatewayContext,
  request: { idEnding: string; pageSize: number },
  isMeant: (materialId: string) => boolean = () => true,
): Promise<Found[]> {
  const { budget, clients } = context;
  const { materials } = await budget.read(clients.materials.findMaterialOwners, request);
  const meant = materials.filter(({ materialId }) => isMeant(materialId));
  const found = await Promise.all(meant.map((material) => materialOf(context, material)));
  return found.flatMap((material) => (material === null ? [] : [{ userId: material.userId, material }]));
}

/** The request ID as given, and also in lower case if it is a UUID or the ending of one. */
function requestIdsOf(text: string): string[] {
  if (!REQUEST_ID.test(text) || containsKey(text)) return [];
  return [...new Set([text, readUuid(text) ?? readIdEnding(text) ?? text])];
}

/** What was done in a request, and the keys with which it was refused. */
async function findByRequest({ budget, clients }: GatewayContext, requestId: string): Promise<Found[]> {
  const { events, refusals } = await budget.read(clients.userEvents.findRequest, { requestId });
  return [
    ...events.map((event) => ({ userId: event.userId, event: toEventNode(event) })),
    ...refusals.map(({ apiKey, request }) => ({ ...ofKey(required(apiKey)), refused: required(request) })),
  ];
}

/** Whatever has this ID, of each kind. */
const findById = (context: GatewayContext, id: string): Promise<Found[]>[] => [
  Promise.resolve([{ userId: id }]),
  findKeys(context, { apiKeyId: id }),
  findMaterials(context, { idEnding: id.slice(-8), pageSize: 100 }, (materialId) => materialId === id),
];

/** Drops what belongs to a user who does not exist. */
async function withUsers({ loaders }: GatewayContext, found: readonly Found[]): Promise<SearchHitNode[]> {
  const users = await Promise.all(found.map(({ userId, user }) => user ?? loaders.user({ userId })));
  return found.flatMap((hit, index) => {
    const user = users[index] ?? null;
    return user === null ? [] : [{ ...hit, user }];
  });
}

const retentionOf = (reviews: number, recalled: number) => ({
  reviews,
  recalled,
  retention: reviews > 0 ? recalled / reviews : null,
});

/** null: deleted in the meantime. */
const userOf = (userId: string, { loaders }: GatewayContext) => loaders.user({ userId });

export const queryResolvers: Resolvers = {
  Query,
  Overview: { asOf: ({ asOfTime }) => toTime(asOfTime) },
  BestPredictors: { asOf: ({ asOfTime }) => toTime(asOfTime) },
  PredictorCount: {
    predictor: ({ predictor }) => (predictor === 'PREDICTOR_UNSPECIFIED' ? null : predictor),
  },
  Learner: {
    asOf: ({ countTime }) => toTime(countTime),
    user: ({ userId }, _arguments, context) => userOf(userId, context),
    month: ({ reviewsMonth, recalledMonth }) => retentionOf(reviewsMonth, recalledMonth),
    monthBefore: ({ reviewsMonthBefore, recalledMonthBefore }) =>
      retentionOf(reviewsMonthBefore, recalledMonthBefore),
    lastReviewOn: ({ lastReviewDate }) => lastReviewDate || null,
  },
  AuditEvent: { user: ({ userId }, _arguments, context) => userOf(userId, context) },
  ExpiringApiKey: { user: ({ apiKey }, _arguments, context) => userOf(apiKey.userId, context) },
  RefusedApiKey: { user: ({ apiKey }, _arguments, context) => userOf(apiKey.userId, context) },
  EmailOffUser: {
    user: ({ userId }, _arguments, context) => userOf(userId, context),
    emailReminders: ({ email }) => required(email),
  },
};
