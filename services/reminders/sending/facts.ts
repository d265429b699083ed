// Asks accounts and scheduling, for a batch of deliveries, who the users are and what is due.
import { hasReason } from '../../platform/errors.ts';
import type { Account, DueCount, Peers } from '../peers.ts';

/** By user ID. */
export type Facts = { accounts: Map<string, Account>; due: Map<string, DueCount> };

/** For at most 500 distinct users. @throws ServiceError if scheduling or accounts is away. */
export async function askFacts(peers: Peers, userIds: readonly string[], asOf: Date): Promise<Facts> {
  if (userIds.length === 0) return { accounts: new Map(), due: new Map() };
  const accounts = await peers.findAccounts(userIds);
  return { accounts, due: await countDue(peers, [...accounts.values()], asOf) };
}

/** Without a user whom scheduling refuses, such as one whose time zone it does not know: it refuses the whole batch for one. */
async function countDue(
  peers: Peers,
  accounts: readonly Account[],
  asOf: Date,
): Promise<Map<string, DueCount>> {
  try {
    return await peers.countDue(accounts, asOf);
  } catch (error) {
    if (!hasReason(error, 'INVALID_REQUEST')) throw error;
    if (accounts.length === 1) return new Map();
    const middle = Math.ceil(accounts.length / 2);
    const halves = [accounts.slice(0, middle), accounts.slice(middle)];
    const counts = await Promise.all(halves.map((half) => countDue(peers, half, asOf)));
    return new Map(counts.flatMap((count) => [...count]));
  }
}
