// The four commands of npm run users; each returns what to print.
import type { parseArgs } from 'node:util';
import type { Clients } from '../../../gateway/clients.ts';
import { exportUser } from '../../../gateway/exports/user-export.ts';
import { required } from '../../../gateway/mapper.ts';
import { deleteUser } from '../../../gateway/resolvers/user-deletion.ts';
import type { User } from '../../../generated/accounts/v1/User.ts';
import { invalidRequest, ServiceError } from '../../platform/errors.ts';
import { pagesOf } from '../../platform/grpc/streams.ts';
import { isoTextOf } from '../../platform/instants.ts';
import { counted } from '../../platform/process/command.ts';
import { printable } from '../../platform/text.ts';
import { requireEmail, throwAs, toJson } from '../service-command.ts';
import { profileOf, type Subcommand } from '../subcommands.ts';

export const OPTIONS = {
  email: { type: 'string' },
  'new-email': { type: 'string' },
  'first-name': { type: 'string' },
  'last-name': { type: 'string' },
  plan: { type: 'string' },
  'time-zone': { type: 'string' },
  yes: { type: 'boolean' },
  json: { type: 'boolean', default: false },
} as const;

export type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

type UsersPrograms = {
  clients: Clients;
  /** Asks on the terminal; empty after Ctrl-C and Ctrl-D, undefined if standard input is not a terminal. */
  ask(question: string): Promise<string | undefined>;
};
type Command = Subcommand<UsersPrograms, Options>['run'];

const PROGRAM = 'npm run users';
const CALL = { requestId: crypto.randomUUID() };

const list: Command = async ({ clients }, _operands, options) => {
  const users = options.email === undefined ? allUsers(clients) : [await findUser(clients, options)];
  return options.json ? jsonList(users) : lines(users);
};

const edit: Command = async ({ clients }, _operands, options) => {
  const changes = changesOf(options);
  if (Object.keys(changes).length === 0)
    throw new ServiceError('INVALID_REQUEST', {
      message: 'Nothing to change. Give --new-email, --first-name, --last-name, --plan or --time-zone.',
    });
  const { userId } = await findUser(clients, options);
  const answer = await clients.users
    .updateUser({ userId, ...changes }, CALL)
    .catch(throwAs('email', 'new_email'));
  if (!answer.unchanged)
    await clients.userEvents.recordUserEvent(
      { userId, action: 'updateUser', fields: Object.keys(changes) },
      CALL,
    );
  const user = required(answer.user);
  return options.json ? toJson(describe(user)) : lines([user]);
};

const exportAll: Command = async ({ clients }, _operands, options) => {
  const user = await findUser(clients, options);
  await clients.userEvents.recordUserEvent({ userId: user.userId, action: 'exportUser' }, CALL);
  return exportUser(clients, user, CALL);
};

const remove: Command = async ({ clients, ask }, _operands, options) => {
  const { userId, email } = await findUser(clients, options);
  if (!options.yes) {
    const question = `This deletes ${printable(email)} with all keys, materials, reviews and reminders, for good.\nType the e-mail address to go on: `;
    const typed = await ask(question);
    if (typed === undefined)
      throw new ServiceError('INVALID_REQUEST', {
        message: 'There is no terminal to confirm on. Add --yes to delete.',
      });
    const given = typed.trim();
    if (given.toLowerCase() !== email.toLowerCase()) {
      const found = given === '' ? 'No address was typed.' : 'That is another address.';
      throw new ServiceError('INVALID_REQUEST', { message: `${found} Nothing was deleted.` });
    }
  }
  const deleted = await deleteUser(clients, userId, CALL);
  if (options.json) return toJson({ id: userId, email, ...deleted });
  const counts = (['apiKeys', 'materials', 'reviews', 'snoozes', 'reminders'] as const).map((of) =>
    counted(deleted[of], NOUNS[of]),
  );
  return `Deleted ${printable(email)}: ${counts.join(', ')}.\n`;
};

const NOUNS = {
  apiKeys: 'key',
  materials: 'material',
  reviews: 'review',
  snoozes: 'snooze',
  reminders: 'reminder',
};

export const COMMANDS: Readonly<Record<string, Subcommand<UsersPrograms, Options>>> = {
  list: { run: list, takes: ['email'] },
  edit: {
    run: edit,
    takes: ['email', 'new-email', 'first-name', 'last-name', 'plan', 'time-zone'],
  },
  export: { run: exportAll, takes: ['email'] },
  delete: { run: remove, takes: ['email', 'yes'] },
};

/** @throws INVALID_REQUEST without --email; NOT_FOUND. */
async function findUser({ users }: Clients, options: Options): Promise<User> {
  const email = requireEmail(options, PROGRAM);
  return required((await users.findUserByEmail({ email }, CALL)).user);
}

/** Newest first. */
async function* allUsers({ users }: Clients): AsyncGenerator<User> {
  for await (const page of pagesOf((asked) => users.listUsers(asked, CALL))) yield* page.users;
}

function changesOf(options: Options) {
  const { 'new-email': email } = options;
  if (email === '') throw invalidRequest('new-email', '--new-email must not be empty.');
  return { ...(email !== undefined && { email }), ...profileOf(options) };
}

function describe(user: User) {
  return {
    id: user.userId,
    email: user.email,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    plan: user.plan === 'PLAN_PREMIUM' ? 'premium' : 'free',
    sandbox: user.sandbox,
    timeZone: user.timeZone,
    createdAt: isoTextOf(user.createTime, 'create_time'),
    updatedAt: isoTextOf(user.updateTime, 'update_time'),
  };
}

type Users = AsyncIterable<User> | Iterable<User>;

/** Columns of variable length come last, so that the others line up without all users in memory. */
async function* lines(users: Users): AsyncGenerator<string> {
  const widths = [36, 24, 7, 7, 20, 32];
  const line = (...cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  yield `${line('ID', 'SINCE', 'PLAN', 'SANDBOX', 'TIME ZONE', 'E-MAIL', 'NAME')}\n`;
  for await (const user of users) {
    const { id, createdAt, plan, sandbox, timeZone, email, firstName, lastName } = describe(user);
    const name = [firstName, lastName].filter(Boolean).join(' ');
    const mark = sandbox ? 'sandbox' : '';
    yield `${line(id, createdAt, plan, mark, timeZone, printable(email), printable(name))}\n`;
  }
}

async function* jsonList(users: Users): AsyncGenerator<string> {
  let before = '[';
  for await (const user of users) {
    yield `${before}\n  ${JSON.stringify(describe(user))}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}
