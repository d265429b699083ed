// Records what people do to a user as events in accounts, for the user's timeline.
import type { UserEventServiceDefinition } from '../../generated/accounts/v1/UserEventService.ts';
import type { CallOptions, GrpcClient } from '../../services/platform/grpc/client.ts';
import type { Logger } from '../../services/platform/logging/logger.ts';
import type { RequestedMutation } from '../limits/requested-mutations.ts';

/** Accounts records changes of keys itself; a deleted user has no timeline. */
const NOT_RECORDED: ReadonlySet<string> = new Set([
  'createApiKey',
  'rotateApiKey',
  'revokeApiKey',
  'deleteUser',
]);
const MAX_SUBJECTS = 100;
/** The answer to the mutation waits for it, so that whoever reads the timeline next finds the event. */
const DEADLINE_MS = 1000;

type RecordEvent = (
  mutation: Pick<RequestedMutation, 'action' | 'targets'>,
  call: CallOptions,
) => Promise<void>;

/** The returned function records a mutation that succeeded. It never throws: a failure is logged. */
export function createEventRecorder(
  userEvents: GrpcClient<UserEventServiceDefinition>,
  logger: Logger,
): RecordEvent {
  return async ({ action, targets }, call) => {
    const { userId, materialId, materialIds, ...others } = targets;
    if (NOT_RECORDED.has(action) || typeof userId !== 'string') return;
    // Materials first, since a timeline shows the first subject.
    const subjects = [materialId ?? [], materialIds ?? [], ...Object.values(others)].flat();
    const event = { userId, action, subjectIds: [...new Set(subjects)].slice(0, MAX_SUBJECTS) };
    await userEvents
      .recordUserEvent(event, { ...call, deadlineMs: DEADLINE_MS })
      .catch((error: unknown) =>
        logger.warn({ err: error, action, requestId: call.requestId }, 'an event of a user was not recorded'),
      );
  };
}
