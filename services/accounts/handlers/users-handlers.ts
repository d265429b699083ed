// The rpcs of accounts.v1.UserService.
import type { UpdateUserRequest } from '../../../generated/accounts/v1/UpdateUserRequest.ts';
import type { UserServiceHandlers } from '../../../generated/accounts/v1/UserService.ts';
import { invalidField, invalidRequest } from '../../platform/errors.ts';
import { readFieldMask } from '../../platform/field-mask.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { isUniqueViolation } from '../../platform/postgres/faults.ts';
import { fromTimestamp } from '../../platform/protobuf/timestamps.ts';
import { isStorable } from '../../platform/text.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { isUuid } from '../../platform/uuid.ts';
import { fromPlan, toUserMessage } from '../mapper.ts';
import {
  deleteUser,
  findUser,
  findUsers,
  findUsersByEmails,
  insertUser,
  listChangedUsers,
  listUsers,
  lockUser,
  searchUsers,
  type User,
  updateUser,
} from '../repositories/users-repository.ts';
import { readName, requireEmail, requireEmailPrefix, requireUserId, userNotFound } from '../requests.ts';
import { announce } from '../revocations.ts';

const MAX_KEYS = 100;
/** The filter that page tokens of the list are bound to. */
const LIST = ['ListUsers'];

export type UserDependencies = { database: Database; now: () => Date; newId: (time: Date) => string };

export function createUserHandlers({
  database,
  now,
  newId,
}: UserDependencies): AsyncHandlers<UserServiceHandlers> {
  return {
    async CreateUser(request) {
      const createTime = now();
      const user: User = {
        userId: newId(createTime),
        email: requireEmail(request.email),
        firstName: readName('first_name', request.firstName),
        lastName: readName('last_name', request.lastName),
        plan: fromPlan(request.plan) ?? 'free',
        timeZone: requireTimeZone('time_zone', request.timeZone || 'UTC'),
        createTime,
        updateTime: createTime,
      };
      await refusingTakenEmail(insertUser(database, user));
      return { user: toUserMessage(user) };
    },

    async GetUser(request) {
      const user = await findUser(database, requireUserId(request.userId));
      if (user === undefined) throw userNotFound();
      return { user: toUserMessage(user) };
    },

    async FindUserByEmail(request) {
      const { email } = request;
      const user = isStorable(email) ? (await findUsersByEmails(database, [email])).get(email) : undefined;
      if (user === undefined) throw userNotFound();
      return { user: toUserMessage(user) };
    },

    async BatchGetUsers({ keys }) {
      if (keys.length < 1 || keys.length > MAX_KEYS) {
        throw invalidField('keys', `must hold 1 to ${MAX_KEYS}.`);
      }
      const ids = keys.flatMap(({ userId }) => (userId !== undefined && isUuid(userId) ? [userId] : []));
      const emails = keys.flatMap(({ email }) => (email !== undefined && isStorable(email) ? [email] : []));
      const [found, byEmail] = await Promise.all([
        ids.length > 0 ? findUsers(database, ids) : [],
        emails.length > 0 ? findUsersByEmails(database, emails) : new Map<string, User>(),
      ]);
      const byId = new Map(found.map((user) => [user.userId, user]));
      const users = keys.map(({ userId, email }) => {
        const user = userId === undefined ? byEmail.get(email ?? '') : byId.get(userId);
        return { user: user === undefined ? null : toUserMessage(user) };
      });
      return { users };
    },

    async UpdateUser(request) {
      const userId = requireUserId(request.userId);
      const user = await database.transaction(async (transaction) => {
        const before = await lockUser(transaction, userId);
        if (before === undefined) throw userNotFound();
        const after = { ...before, ...readChanges(request), updateTime: now() };
        await refusingTakenEmail(updateUser(transaction, after));
        await announce(transaction, { changedUserId: userId });
        return after;
      });
      return { user: toUserMessage(user) };
    },

    async ListUsers(request) {
      const pageSize = readPageSize(request.pageSize);
      const after = decodeTimePosition(request.pageToken, LIST);
      const users = await listUsers(database, { limit: pageSize + 1, after });
      const { page, nextPageToken } = toPage(users, pageSize, LIST, ({ createTime, userId }) =>
        byTime(createTime, userId),
      );
      return { users: page.map(toUserMessage), nextPageToken };
    },

    async ListChangedUsers(request) {
      if (request.changedSinceTime === null) throw invalidField('changed_since_time', 'must be given.');
      const since = fromTimestamp(request.changedSinceTime);
      const pageSize = readPageSize(request.pageSize);
      const filter = ['ListChangedUsers', since.getTime()];
      const after = decodeTimePosition(request.pageToken, filter);
      const users = await listChangedUsers(database, { since, limit: pageSize + 1, after });
      const { page, nextPageToken } = toPage(users, pageSize, filter, ({ updateTime, userId }) =>
        byTime(updateTime, userId),
      );
      return { users: page.map(toUserMessage), nextPageToken };
    },

    async SearchUsers(request) {
      const prefix = requireEmailPrefix(request.emailPrefix);
      const users = await searchUsers(database, prefix, readPageSize(request.pageSize));
      return { users: users.map(toUserMessage) };
    },

    async DeleteUser(request) {
      const userId = requireUserId(request.userId);
      const deleted = await database.transaction(async (transaction) => {
        await announce(transaction, { changedUserId: userId });
        return deleteUser(transaction, userId);
      });
      return { deleted };
    },
  };
}

function readChanges(request: UpdateUserRequest): Partial<User> {
  const { email, firstName, lastName, timeZone } = request;
  const plan = fromPlan(request.plan);
  const present = { email, first_name: firstName, last_name: lastName, plan, time_zone: timeZone };
  const paths = readFieldMask(request.updateMask, present, ['email', 'plan', 'time_zone']);
  return {
    ...(paths.has('email') && { email: requireEmail(email ?? '') }),
    ...(paths.has('first_name') && { firstName: readName('first_name', firstName) }),
    ...(paths.has('last_name') && { lastName: readName('last_name', lastName) }),
    ...(paths.has('plan') && plan !== undefined && { plan }),
    ...(paths.has('time_zone') && { timeZone: requireTimeZone('time_zone', timeZone ?? '') }),
  };
}

async function refusingTakenEmail(write: Promise<void>): Promise<void> {
  await write.catch((error: unknown) => {
    throw isUniqueViolation(error)
      ? invalidRequest('email', 'A user with this email exists already.')
      : error;
  });
}
