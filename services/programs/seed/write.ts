// Writes a generated learner to PostgreSQL.
import type { UserEvent } from '../../accounts/events/sql.ts';
import { insertUser, type User } from '../../accounts/users/sql.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import type { EmailOffReason } from '../../reminders/channels/sql.ts';
import type { Delivery } from '../../reminders/deliveries/delivery.ts';
import type { Reminder } from '../../reminders/reminders/reminder.ts';
import { insertReminder } from '../../reminders/reminders/sql.ts';
import { insertWhole } from '../../scheduling/user-data/import-sql.ts';
import type { WholeMaterial } from '../../scheduling/user-data/record.ts';
import type { SampleKey, SampleRequests } from './keys.ts';

export type Learner = {
  user: User;
  materials: readonly WholeMaterial[];
  userEvents: readonly UserEvent[];
  reminders: readonly Reminder[];
  deliveries: readonly Delivery[];
  keys: readonly SampleKey[];
  requests: SampleRequests;
  emailOff: { reason: EmailOffReason; time: Date } | null;
  /** 32 random bytes for the link that ends mails. */
  unsubscribeToken: Buffer;
};

const MATERIALS_AT_A_TIME = 500;
const TIMEOUT_MS = 60_000;
const SEARCHABLE = { sortsIn: true };

/** Writes all of it in one transaction. */
export function writeLearner(database: Database, learner: Learner): Promise<void> {
  const { user, materials, reminders, emailOff, unsubscribeToken } = learner;
  const { userId } = user;
  return database.transaction(
    async (transaction) => {
      await insertUser(transaction, user);
      for (let from = 0; from < materials.length; from += MATERIALS_AT_A_TIME)
        await insertWhole(transaction, userId, materials.slice(from, from + MATERIALS_AT_A_TIME), SEARCHABLE);
      await insertRows(transaction, 'accounts.user_events', learner.userEvents);
      await insertRows(transaction, 'accounts.api_keys', learner.keys);
      await insertRows(transaction, 'accounts.key_requests', learner.requests.counts);
      await insertRows(transaction, 'accounts.refused_requests', learner.requests.refused);
      if (reminders.length === 0) return;
      const off = { emailOffReason: emailOff?.reason ?? null, emailOffTime: emailOff?.time ?? null };
      await insertRows(transaction, 'reminders.users', [{ userId, unsubscribeToken, ...off }]);
      for (const reminder of reminders) await insertReminder(transaction, reminder);
      const deliveries = learner.deliveries.map((delivery) => ({
        ...delivery,
        attemptTime: delivery.updateTime,
      }));
      await insertRows(transaction, 'reminders.deliveries', deliveries);
    },
    { statementTimeoutMs: TIMEOUT_MS },
  );
}
