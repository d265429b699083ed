// Asks accounts and scheduling, for a batch of deliveries, who the users are and what is due.
import type { Account, DueCount, Peers } from '../peers.ts';

/** By user ID. */
export type Facts = { accounts: Map<string, Account>; due: Map<string, DueCount> };

/** For at most 500 distinct users. @throws ServiceError if scheduling or accounts is away. */
export async function askFacts(peers: Peers, userIds: readonly string[], asOf: Date): Promise<Facts> {
  if (userIds.length === 0) return { accounts: new Map(), due: new Map() };
  const accounts = await peers.findAccounts(userIds);
  return { accounts, due: await peers.countDue([...accounts.values()], asOf) };
}
