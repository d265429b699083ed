// Where a delivery goes, or why it goes nowhere.
import type { EmailAddress, PushAddress } from '../channels/channel.ts';
import type { Outcome } from '../deliveries/delivery.ts';
import type { Account } from '../peers.ts';
import type { LeasedWork } from './leases-repository.ts';

/** Soon again: another process may have push set up. */
const NOT_SET_UP_MS = 60_000;

/** `host` is where messages to several addresses go; undefined if it does not matter. */
export type Reach<Address> = { address: Address; host?: string };

export function reachByEmail({ emailIsOn }: LeasedWork, { email }: Account): Reach<EmailAddress> | Outcome {
  if (emailIsOn) return { address: { email } };
  return { state: 'failed', cause: 'e-mail off', failure: 'E-mail was switched off before this was sent.' };
}

export function reachByPush({ push }: LeasedWork): Reach<PushAddress> | Outcome {
  if (push !== null) return { address: push, host: new URL(push.endpoint).host };
  return {
    state: 'failed',
    cause: 'no subscription',
    failure: 'The push subscription was removed before this was sent.',
  };
}

export function reachNobody(): Outcome {
  return { state: 'pending', retryInMs: NOT_SET_UP_MS, failure: 'Push is not set up.' };
}
