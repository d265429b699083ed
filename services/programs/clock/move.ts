// Moves the clock of a sandbox user, or shows it.
import { type Clients, followTestClock } from '../../../gateway/clients.ts';
import { required } from '../../../gateway/mapper.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import { isoTextOf, parseDateTime, toDuration, toTimestamp } from '../../platform/instants.ts';
import { printable } from '../../platform/text.ts';
import { requireEmail, throwAs, toJson } from '../service-command.ts';

type Options = {
  email?: string | undefined;
  forward?: string | undefined;
  to?: string | undefined;
  json?: boolean | undefined;
};

const CALL = { requestId: crypto.randomUUID() };

/**
 * Moves the clock where that is asked for. @returns what to print: what time it then is for the user.
 * @throws INVALID_REQUEST for a bad option and a user who is not sandbox; NOT_FOUND.
 */
export async function moveClock(
  clients: Pick<Clients, 'users' | 'userEvents' | 'learners' | 'reminders'>,
  options: Options,
): Promise<string> {
  const { users, userEvents, learners } = clients;
  const email = requireEmail(options, 'npm run clock');
  const move = readMove(options);
  const { userId, sandbox } = required((await users.findUserByEmail({ email }, CALL)).user);
  if (!sandbox)
    throw invalidField('email', 'is not that of a sandbox user: only such a user has a clock of their own.');
  const { clock } =
    move === undefined
      ? await learners.getTestClock({ userId }, CALL)
      : await learners
          .setTestClock({ userId, ...move, requestId: crypto.randomUUID() }, CALL)
          .catch(throwAs('time', 'to'));
  if (move !== undefined) {
    await followTestClock(clients, userId, CALL);
    await userEvents.recordUserEvent({ userId, action: 'setTestClock' }, CALL);
  }
  const now = isoTextOf(required(clock).nowTime, 'now_time');
  return options.json ? toJson({ id: userId, email, now }) : `It is ${now} for ${printable(email)}.\n`;
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function readMove({ forward, to }: Options) {
  if (forward !== undefined && to !== undefined)
    throw new ServiceError('INVALID_REQUEST', { message: 'Give --forward or --to, not both.' });
  if (to !== undefined) {
    const time = parseDateTime(to);
    if (time === undefined) throw invalidField('to', 'must be an instant such as 2027-01-31T09:00:00Z.');
    return { time: toTimestamp(time) };
  }
  if (forward === undefined) return undefined;
  const [, count, unit] = /^(\d{1,7})([smhdw])$/.exec(forward) ?? [];
  if (count === undefined)
    throw invalidField('forward', 'must be a number of s, m, h, d or w, such as 90m, 6d or 4w.');
  return { forward: toDuration(Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]) };
}
