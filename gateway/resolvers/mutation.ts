// The mutations. Roles are handled in app.ts, the audit log in access/audit.ts.
import type {
  CreateApiKeyInput,
  MutationResolvers,
  Resolvers,
  RotateApiKeyInput,
} from '../../generated/gateway/resolvers.ts';
import type { Material } from '../../generated/scheduling/v1/Material.ts';
import { invalidField } from '../../services/platform/errors.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { followTestClock } from '../clients.ts';
import { given, maskOf, required } from '../mapper.ts';
import { deleteUser } from './user-deletion.ts';

/** Longer than other deadlines, since a snooze can have 10,000 materials; shorter than that of the dashboard. */
const OF_MANY_MS = 12_000;

const Mutation: MutationResolvers = {
  async createUser(_parent, { input }, { clients, call }) {
    // Over gRPC an empty time zone is an absent one.
    if (input.timeZone === '') throw invalidField('timeZone', 'must be an IANA time zone.');
    const { user } = await clients.users.createUser(given(input), call);
    return { user: required(user) };
  },

  async updateUser(_parent, { input }, { clients, call }) {
    const { userId, ...changes } = input;
    const answer = await clients.users.updateUser(
      { userId, updateMask: maskOf(changes), ...given(changes) },
      call,
    );
    return { user: required(answer.user), ...unlessNew(answer) };
  },

  async setTestClock(_parent, { input }, { clients, call }) {
    const { userId, time, forwardSeconds, requestId } = input;
    const isGiven = (value: unknown) => value !== undefined && value !== null;
    if (isGiven(time) && isGiven(forwardSeconds))
      throw invalidField('forwardSeconds', 'must not be given together with time.');
    if (!isGiven(time) && !isGiven(forwardSeconds))
      throw invalidField('time', 'or forwardSeconds must be given.');
    if (typeof forwardSeconds === 'number' && forwardSeconds < 1)
      throw invalidField('forwardSeconds', 'must be 1 or more: a clock goes only forward.');
    const answer = await clients.learners.setTestClock(
      {
        userId,
        requestId: requestId ?? '',
        ...(time && { time: toTimestamp(time) }),
        ...(typeof forwardSeconds === 'number' && { forward: { seconds: forwardSeconds, nanos: 0 } }),
      },
      call,
    );
    await followTestClock(clients, userId, call);
    return { testClock: required(answer.clock), ...unlessNew(answer) };
  },

  deleteUser: (_parent, { input }, { clients, call }) => deleteUser(clients, input.userId, call),

  async createMaterial(_parent, { input }, { clients, call }) {
    const { userId } = input;
    // Scheduling accepts any user ID, so check with accounts that the user exists.
    await clients.users.getUser({ userId }, call);
    return materialPayload(userId, await clients.materials.createMaterial(given(input), call));
  },

  async updateMaterial(_parent, { input }, { clients, call }) {
    const { userId, materialId: _, requestId: __, ...changes } = input;
    const request = { ...given(input), updateMask: maskOf(changes) };
    return materialPayload(userId, await clients.materials.updateMaterial(request, call));
  },

  async archiveMaterial(_parent, { input }, { clients, call }) {
    return materialPayload(input.userId, await clients.materials.archiveMaterial(given(input), call));
  },

  async restoreMaterial(_parent, { input }, { clients, call }) {
    return materialPayload(input.userId, await clients.materials.restoreMaterial(given(input), call));
  },

  async deleteMaterial(_parent, { input }, { clients, call }) {
    const answer = await clients.materials.deleteMaterial(given(input), call);
    return { materialId: input.materialId, ...unlessNew(answer) };
  },

  async submitReview(_parent, { input }, { clients, call }) {
    const { userId } = input;
    const answer = await clients.reviews.submitReview(given(input), call);
    return { ...materialPayload(userId, answer), review: { userId, message: required(answer.review) } };
  },

  async undoReview(_parent, { input: { userId, reviewId } }, { clients, call }) {
    const answer = await clients.reviews.undoReview({ userId, reviewId }, call);
    return { ...materialPayload(userId, answer), review: { userId, message: required(answer.review) } };
  },

  async snoozeMaterials(_parent, { input }, { clients, call }) {
    const { snoozeUntil, ...others } = input;
    const { userId, preset } = input;
    const user = preset ? (await clients.users.getUser({ userId }, call)).user : null;
    const answer = await clients.snoozes.snoozeMaterials(
      {
        ...given(others),
        ...(snoozeUntil && { snoozeUntilTime: toTimestamp(snoozeUntil) }),
        ...(preset && { timeZone: required(user).timeZone }),
      },
      call,
    );
    return { snooze: { userId, message: required(answer.snooze) }, ...unlessNew(answer) };
  },

  async spreadBacklog(_parent, { input }, { clients, call }) {
    const { userId } = input;
    const { user } = await clients.users.getUser({ userId }, call);
    const answer = await clients.snoozes.spreadBacklog(
      { ...given(input), timeZone: required(user).timeZone },
      { ...call, deadlineMs: OF_MANY_MS },
    );
    const snooze = answer.snooze && { userId, message: answer.snooze };
    return { snooze, days: answer.days, left: answer.left, ...unlessNew(answer) };
  },

  async cancelSnooze(_parent, { input: { userId, snoozeId } }, { clients, call }) {
    const patient = { ...call, deadlineMs: OF_MANY_MS };
    const { materialIds } = await clients.snoozes.cancelSnooze({ userId, snoozeId }, patient);
    return { snoozeId, materialIds };
  },

  async createApiKey(_parent, { input }, { clients, call }) {
    const { key, apiKey } = await clients.apiKeys.createApiKey(toKeyRequest(input), call);
    return { key, apiKey: required(apiKey) };
  },

  async rotateApiKey(_parent, { input }, { clients, call }) {
    const { key, apiKey } = await clients.apiKeys.rotateApiKey(toKeyRequest(input), call);
    return { key, apiKey: required(apiKey) };
  },

  async revokeApiKey(_parent, { input }, { clients, call }) {
    const { apiKey } = await clients.apiKeys.revokeApiKey({ apiKeyId: input.apiKeyId }, call);
    return { apiKey: required(apiKey) };
  },
};

export const mutationResolvers: Resolvers = { Mutation };

function materialPayload(userId: string, answer: { material: Material | null } & Outcome) {
  return {
    material: { userId, message: required(answer.material), isWhole: true },
    ...unlessNew(answer),
  };
}

type Outcome = { replayed?: boolean; unchanged?: boolean };

/** For the audit, which records no event of a write that was answered before, or that changed nothing. */
export const unlessNew = ({ replayed = false, unchanged = false }: Outcome) =>
  (replayed || unchanged) && { changesNothing: true };

function toKeyRequest<I extends CreateApiKeyInput | RotateApiKeyInput>({ expiresAt, ...others }: I) {
  // Over gRPC no scopes at all are the usual ones.
  if (others.scopes?.length === 0) throw invalidField('scopes', 'must hold at least one scope.');
  return { ...given(others), ...(expiresAt && { expireTime: toTimestamp(expiresAt) }) };
}
