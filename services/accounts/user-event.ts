// An event of a user: what was done, by whom, in which request.
import type { CallContext } from '../platform/grpc/call-context.ts';

export type UserEvent = {
  userId: string;
  eventTime: Date;
  eventId: string;
  /** The name of a mutation of the gateway. */
  action: string;
  actor: string;
  requestId: string;
  subjectIds: readonly string[];
  isOfKey: boolean;
  /** Whether a person did it, whom the calling program names. */
  isOfPerson: boolean;
};

/** How long events are kept. */
export const EVENT_LIFETIME_MS = 90 * 86_400_000;
const MAX_ACTOR_CHARACTERS = 200;
const MAX_REQUEST_ID_CHARACTERS = 128;

/** `caller`: a program, or a program and a person, as "gateway/olga". */
export function originOf({ caller, requestId }: Pick<CallContext, 'caller' | 'requestId'>) {
  return {
    actor: caller.slice(0, MAX_ACTOR_CHARACTERS),
    requestId: requestId.slice(0, MAX_REQUEST_ID_CHARACTERS),
    isOfPerson: caller.includes('/'),
  };
}
