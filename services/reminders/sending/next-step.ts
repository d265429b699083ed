// What is to be done with a delivery once it is known who the user is and what is due.
import type { ReminderMessage } from '../channels/channel.ts';
import type { Outcome } from '../deliveries/delivery.ts';
import type { Account } from '../peers.ts';
import { decideByDue } from './decision.ts';
import type { Facts } from './facts.ts';
import type { LeasedWork } from './leases-repository.ts';
import type { Reach } from './reach.ts';

const PEERS_AWAY_MS = 10_000;

/** A message to be sent. */
export type Step<Address> = { reach: Reach<Address>; message: ReminderMessage };

/** Nothing was tried: again in 5 to 10 s. */
export function peersAway(random: () => number): Outcome {
  return { state: 'pending', retryInMs: PEERS_AWAY_MS * (0.5 + random() / 2) };
}

/** What is to be sent where, or the outcome of what is not to be sent. */
export function nextStep<Address>(
  options: {
    reach: (work: LeasedWork, account: Account) => Reach<Address> | Outcome;
    publicUrl: string;
    random: () => number;
  },
  work: LeasedWork,
  { accounts, due }: Facts,
): Outcome | Step<Address> {
  const account = accounts.get(work.userId);
  if (account === undefined)
    return { state: 'failed', cause: 'no user', failure: 'This user no longer exists.' };
  const reach = options.reach(work, account);
  if ('state' in reach) return reach;
  const counted = due.get(work.userId);
  if (counted === undefined) return peersAway(options.random);
  const message = {
    deliveryId: work.deliveryId,
    userId: work.userId,
    firstName: account.firstName,
    dueCount: counted.dueCount,
    titles: counted.titles,
    unsubscribeUrl: `${options.publicUrl}/unsubscribe/${work.unsubscribeToken.toString('base64url')}`,
    isTest: work.isTest,
    dueTime: work.dueTime,
  };
  return decideByDue(work, counted) ?? { reach, message };
}
