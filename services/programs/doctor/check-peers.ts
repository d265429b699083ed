// The gRPC services: they serve, and accept our service token and certificates.
import { type Clients, closeClients, createClients } from '../../../gateway/clients.ts';
import { bad, type Check, type Finding, ok, warning } from '../../platform/checks.ts';
import { ServiceError } from '../../platform/errors.ts';
import { createHealthClient } from '../../platform/grpc/peer-checks.ts';
import { oneLine } from '../../platform/thrown.ts';
import { ANSWER_MS } from './finding.ts';
import type { Settings } from './settings.ts';

/** An unknown ID: the check only needs any response. */
const NOBODY = '00000000-0000-7000-8000-000000000000';
const CALL = { requestId: 'doctor', deadlineMs: ANSWER_MS };

/** Checks of the services that this environment calls. */
export function peerChecks(settings: Settings): Check[] {
  const { remindersTarget } = settings;
  const { trust, schedulingTarget, accountsTarget } = settings.rest;
  const ask = async (rpc: (clients: Clients) => Promise<unknown> | undefined) => {
    const peers = { schedulingTarget, accountsTarget, remindersTarget };
    const clients = createClients({ ...peers, trust, caller: 'doctor' });
    await rpc(clients)?.finally(() => closeClients(clients));
  };
  const of = { userId: NOBODY };
  const peers = [
    {
      name: 'scheduling',
      target: schedulingTarget,
      rpc: ({ materials }: Clients) => materials.getMaterial({ ...of, materialId: NOBODY }, CALL),
    },
    { name: 'accounts', target: accountsTarget, rpc: ({ users }: Clients) => users.getUser(of, CALL) },
    {
      name: 'reminders',
      target: remindersTarget,
      rpc: ({ reminders }: Clients) => reminders?.listReminders(of, CALL),
    },
  ];
  return peers.flatMap(({ name, target, rpc }) => {
    if (target === undefined) return [];
    return { name: `service ${name}`, run: () => checkPeer(settings, { name, target, ask: () => ask(rpc) }) };
  });
}

async function checkPeer(
  { rest: { trust }, namesPeers }: Settings,
  { name, target, ask }: { name: string; target: string; ask: () => Promise<void> },
): Promise<Finding> {
  let health: ReturnType<typeof createHealthClient>;
  try {
    health = createHealthClient({ target, trust, deadlineMs: ANSWER_MS });
  } catch (error) {
    return bad(`not checked: ${oneLine(error)}`, 'fix the tls problem first');
  }
  const fault = await health.fault().finally(() => health.close());
  if (fault?.error !== undefined) {
    const found = `${target} does not answer: ${oneLine(fault.error)}`;
    if (!namesPeers) return warning(found, 'run npm start and check again');
    const certificates =
      trust.tls === undefined ? '' : ', and check that both sides have certificates from the same CA';
    const remedy = `${fault.remedy} (npm run ${name}), or correct ${name.toUpperCase()}_URL${certificates}`;
    return bad(found, remedy);
  }
  if (fault !== undefined) return bad(`${target} ${fault.reason}`, fault.remedy);
  const refusal = await ask().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refusal instanceof ServiceError) || refusal.reason === 'NOT_FOUND') return ok(`serves at ${target}`);
  return bad(`${target} serves, but answers a test call with ${refusal.reason}`, `read the log of ${name}`);
}
