// What is recorded of mutations: a line of the audit log for each, and an event for the user's timeline for those that succeed.
import { defaultFieldResolver, type GraphQLSchema } from 'graphql';
import type { UserEventServiceDefinition } from '../../generated/accounts/v1/UserEventService.ts';
import { invalidRequest, toServiceError } from '../../services/platform/errors.ts';
import type { CallOptions, GrpcClient } from '../../services/platform/grpc/client.ts';
import type { Logger } from '../../services/platform/logging/logger.ts';
import { readUuid } from '../../services/platform/uuid.ts';
import { LIMITS } from '../budget.ts';
import type { GatewayContext, Targets } from '../context.ts';
import { createLoaders } from '../loaders.ts';

/**
 * Wraps each mutation in `schema`, in place: it writes its line with the outcome, and one that succeeded is recorded for the
 * timeline. app.ts has already refused the mutations of viewers.
 */
export function auditMutations(schema: GraphQLSchema): void {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const resolve = field.resolve ?? defaultFieldResolver;
    field.resolve = async (parent, input, context: GatewayContext, info) => {
      const targets = targetsOf(input.input);
      context.mutations += 1;
      try {
        if (context.mutations > LIMITS.mutations) throw TOO_MANY;
        const result: unknown = await resolve(parent, input, context, info);
        const all = allTargets(targets, targetsOfResult(result));
        context.audit(field.name, 'ok', all);
        if (!changedNothing(result)) await context.record(field.name, all, fieldsOf(field.name, input.input));
        // What was read before the mutation can be stale.
        context.loaders = createLoaders(context.clients, context.budget);
        return result;
      } catch (error) {
        context.audit(field.name, toServiceError(error).reason, targets);
        throw error;
      }
    };
  }
}

const OF_UPDATE = /^update[A-Z]/;

/** The names of the fields that the input of an update sets. */
function fieldsOf(action: string, input: unknown): string[] {
  if (!OF_UPDATE.test(action) || typeof input !== 'object' || input === null) return [];
  return Object.keys(input).filter((name) => !OF_IDS.test(name));
}

const TOO_MANY = invalidRequest('query', `At most ${LIMITS.mutations} mutations are run in one request.`);

/** Fields of inputs and messages. */
const OF_IDS = /Ids?$/;
const MAX_IDS = 100;

/** The IDs in an input. Malformed ones are not repeated, since people paste the key in place of its ID. */
function targetsOf(input: unknown): Targets {
  const targets: Targets = {};
  if (typeof input !== 'object' || input === null) return targets;
  const idOf = (value: unknown) => (typeof value === 'string' && readUuid(value)) || 'not an id';
  for (const [name, value] of Object.entries(input)) {
    if (!OF_IDS.test(name) || name === 'requestId') continue;
    if (Array.isArray(value)) targets[name] = value.slice(0, MAX_IDS).map(idOf);
    else if (typeof value === 'string' && value !== '') targets[name] = idOf(value);
  }
  return targets;
}

/** The IDs of changed and created objects, without the key with which a review was made. */
function targetsOfResult(result: unknown): Targets {
  if (typeof result !== 'object' || result === null) return {};
  const parts = Object.entries(result).map(([name, part]: [string, unknown]) => {
    const message = typeof part === 'object' && part !== null && 'message' in part ? part.message : part;
    const targets = targetsOf(message);
    if (name !== 'apiKey') delete targets.apiKeyId;
    return targets;
  });
  return Object.assign(targetsOf(result), ...parts);
}

/** A rotation names one key and makes another: the former is `replacedApiKeyId`. */
function allTargets(asked: Targets, made: Targets): Targets {
  const all = { ...asked, ...made };
  const { apiKeyId: replacedApiKeyId } = asked;
  if (replacedApiKeyId === undefined || replacedApiKeyId === all.apiKeyId) return all;
  return { ...all, replacedApiKeyId };
}

/** Whether a mutation says that it found nothing to change, such as a cancelled snooze without materials. */
function changedNothing(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  if ('materialIds' in result && Array.isArray(result.materialIds)) return result.materialIds.length === 0;
  // A dry run, or nothing to spread.
  if ('snooze' in result && result.snooze === null) return true;
  if ('deleted' in result) return result.deleted === false;
  return 'changesNothing' in result;
}

/** Accounts records changes of keys itself; a deleted user has no timeline. */
const NOT_RECORDED: ReadonlySet<string> = new Set([
  'createApiKey',
  'rotateApiKey',
  'revokeApiKey',
  'deleteUser',
]);
const MAX_SUBJECTS = 100;
/** The response to the mutation waits for the event to be stored, so that the next read of the timeline finds it. */
const DEADLINE_MS = 1000;

/** The returned function records a mutation that succeeded. It never throws: a failure is logged. */
export function createEventRecorder(userEvents: GrpcClient<UserEventServiceDefinition>, logger: Logger) {
  return async (
    action: string,
    targets: Targets,
    call: CallOptions,
    fields: readonly string[] = [],
  ): Promise<void> => {
    const { userId, userIds, materialId, materialIds, snoozeId, reviewId: _, ...others } = targets;
    if (NOT_RECORDED.has(action)) return;
    // Materials first, since a timeline shows the first subject.
    const subjects = [materialId ?? [], materialIds ?? [], ...Object.values(others)].flat();
    const subjectIds = [...new Set(subjects)].slice(0, MAX_SUBJECTS);
    const event = {
      action,
      subjectIds,
      ...(typeof snoozeId === 'string' && { snoozeId }),
      ...(fields.length > 0 && { fields: [...fields] }),
    };
    const record = (ofUser: string) =>
      userEvents
        .recordUserEvent({ userId: ofUser, ...event }, { ...call, deadlineMs: DEADLINE_MS })
        .catch((error: unknown) =>
          logger.warn(
            { err: error, action, requestId: call.requestId },
            'an event of a user was not recorded',
          ),
        );
    await Promise.all([userId ?? [], userIds ?? []].flat().map(record));
  };
}
