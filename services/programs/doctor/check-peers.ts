// Checks the gRPC services: they serve, and accept our service token and certificates.
import type { UserServiceDefinition } from '../../../generated/accounts/v1/UserService.ts';
import type { ReminderServiceDefinition } from '../../../generated/reminders/v1/ReminderService.ts';
import type { MaterialServiceDefinition } from '../../../generated/scheduling/v1/MaterialService.ts';
import { ServiceError } from '../../platform/errors.ts';
import { clientsOf } from '../../platform/grpc/client.ts';
import { createHealthClient } from '../../platform/grpc/peer-checks.ts';
import { oneLine } from '../../platform/thrown.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

const DEADLINE_MS = 2000;
/** An unknown ID: the check only needs any response. */
const NOBODY = '00000000-0000-7000-8000-000000000000';
const CALL = { requestId: 'doctor' };

export function checkPeers(settings: Settings): Promise<Finding[]> {
  const { trust, schedulingTarget, accountsTarget, remindersTarget } = settings;
  const common = { trust, caller: 'doctor', deadlineMs: DEADLINE_MS };
  const askScheduling = async () => {
    const scheduling = clientsOf('scheduling.v1', { ...common, target: schedulingTarget });
    const client = scheduling<MaterialServiceDefinition>('MaterialService');
    await client.getMaterial({ userId: NOBODY, materialId: NOBODY }, CALL).finally(() => client.close());
  };
  const askAccounts = async () => {
    const client = clientsOf('accounts.v1', { ...common, target: accountsTarget })<UserServiceDefinition>(
      'UserService',
    );
    await client.getUser({ userId: NOBODY }, CALL).finally(() => client.close());
  };
  const askReminders = async (target: string) => {
    const reminders = clientsOf('reminders.v1', { ...common, target });
    const client = reminders<ReminderServiceDefinition, 'ExportUserData'>('ReminderService');
    await client.listReminders({ userId: NOBODY }, CALL).finally(() => client.close());
  };
  return Promise.all([
    checkPeer(settings, { name: 'scheduling', target: schedulingTarget, ask: askScheduling }),
    checkPeer(settings, { name: 'accounts', target: accountsTarget, ask: askAccounts }),
    ...(remindersTarget === undefined
      ? []
      : [
          checkPeer(settings, {
            name: 'reminders',
            target: remindersTarget,
            ask: () => askReminders(remindersTarget),
          }),
        ]),
  ]);
}

async function checkPeer(
  { trust, namesPeers }: Settings,
  { name, target, ask }: { name: string; target: string; ask: () => Promise<void> },
): Promise<Finding> {
  const { ok, warning, bad } = checkNamed(`service ${name}`);
  let health: ReturnType<typeof createHealthClient>;
  try {
    health = createHealthClient({ target, trust, deadlineMs: DEADLINE_MS });
  } catch (error) {
    return bad(`not asked: ${oneLine(error)}`, 'fix the tls problem first');
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
