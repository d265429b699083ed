// The rpcs of accounts.v1.UserService.
import type { UpdateUserRequest } from '../../../generated/accounts/v1/UpdateUserRequest.ts';
import type { UserInput } from '../../../generated/accounts/v1/User.ts';
import type { UserServiceHandlers } from '../../../generated/accounts/v1/UserService.ts';
import { invalidField, invalidRequest, ServiceError } from '../../platform/errors.ts';
import { changesNothing, readFieldMask } from '../../platform/field-mask.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, toTimestamp } from '../../platform/instants.ts';
import type { Audit } from '../../platform/logging/logger.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { isUniqueViolation } from '../../platform/postgres/faults.ts';
import type { Now } from '../../platform/postgres/now.ts';
import { enumName, enumReader } from '../../platform/protobuf/enums.ts';
import { codePointLength, isStorable } from '../../platform/text.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { isSandboxUser, newSandboxUserId, readIdEnding, readUuid } from '../../platform/uuid.ts';
import { announce } from '../revocations.ts';
import {
  deleteUser,
  findUser,
  findUsers,
  findUsersByEmails,
  findUsersByIdEnding,
  insertUser,
  listChangedUsers,
  listUsers,
  lockUser,
  searchUsers,
  type User,
  updateUser,
} from './sql.ts';

const MAX_KEYS = 100;
const MAX_EMAIL_CHARACTERS = 254;
const MAX_NAME_CODE_POINTS = 100;
/** RFC 5321 without quoted local parts and address literals, which mail providers do not use. */
const EMAIL =
  /^(?=.{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const readPlan = enumReader('plan', 'PLAN', ['free', 'premium']);
/** The filter that page tokens of the list are bound to. */
const LIST = ['ListUsers'];

export type UserDependencies = {
  database: Database;
  now: () => Date;
  /** The time of changes: by default the database's clock, by which other services follow changes. */
  changeNow: Now;
  newId: (time: Date) => string;
  audit: Audit;
};

export function createUserHandlers({
  database,
  now,
  changeNow,
  newId,
  audit,
}: UserDependencies): AsyncHandlers<UserServiceHandlers> {
  return {
    async CreateUser(request) {
      const createTime = now();
      const user: User = {
        userId: request.sandbox ? newSandboxUserId(createTime) : newId(createTime),
        email: requireEmail(request.email),
        firstName: readName('first_name', request.firstName),
        lastName: readName('last_name', request.lastName),
        plan: readPlan(request.plan) ?? 'free',
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
      const ids = keys.flatMap(({ userId }) => readUuid(userId ?? '') ?? []);
      const emails = keys.flatMap(({ email }) => (email !== undefined && isStorable(email) ? [email] : []));
      const [found, byEmail] = await Promise.all([
        ids.length > 0 ? findUsers(database, ids) : [],
        emails.length > 0 ? findUsersByEmails(database, emails) : new Map<string, User>(),
      ]);
      const byId = new Map(found.map((user) => [user.userId, user]));
      const users = keys.map(({ userId, email }) => {
        const user = userId === undefined ? byEmail.get(email ?? '') : byId.get(userId.toLowerCase());
        return { user: user === undefined ? null : toUserMessage(user) };
      });
      return { users };
    },

    async UpdateUser(request) {
      const userId = requireUserId(request.userId);
      return database.transaction(async (transaction) => {
        const before = await lockUser(transaction, userId);
        if (before === undefined) throw userNotFound();
        const changes = readChanges(request);
        if (changesNothing(before, changes)) return { user: toUserMessage(before), unchanged: true };
        const changed = { ...before, ...changes };
        const updateTime = await refusingTakenEmail(updateUser(transaction, changed, changeNow));
        await announce(transaction, { changedUserId: userId });
        return { user: toUserMessage({ ...changed, updateTime }) };
      });
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
      const since = fromTimestamp(request.changedSinceTime, 'changed_since_time');
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
      const text = requireSearchText(request.text);
      const limit = readPageSize(request.pageSize);
      const idEnding = readIdEnding(text);
      const [byId, byText] = await Promise.all([
        idEnding === undefined ? [] : findUsersByIdEnding(database, idEnding, limit),
        searchUsers(database, text, limit),
      ]);
      const users = new Map([...byId, ...byText].map((user) => [user.userId, user]));
      return { users: [...users.values()].slice(0, limit).map(toUserMessage) };
    },

    async DeleteUser(request, { caller, requestId }) {
      const userId = requireUserId(request.userId);
      const deleted = await database.transaction(async (transaction) => {
        await announce(transaction, { changedUserId: userId });
        return deleteUser(transaction, userId);
      });
      if (deleted) audit({ action: 'DeleteUser', caller, outcome: 'ok', requestId, targets: { userId } });
      return { deleted };
    },
  };
}

function readChanges(request: UpdateUserRequest): Partial<User> {
  const { email, firstName, lastName, timeZone } = request;
  const plan = readPlan(request.plan);
  const present = { email, first_name: firstName, last_name: lastName, plan, time_zone: timeZone };
  const paths = readFieldMask(request.updateMask, present, ['first_name', 'last_name']);
  return {
    ...(paths.has('email') && { email: requireEmail(email ?? '') }),
    ...(paths.has('first_name') && { firstName: readName('first_name', firstName) }),
    ...(paths.has('last_name') && { lastName: readName('last_name', lastName) }),
    ...(paths.has('plan') && plan !== undefined && { plan }),
    ...(paths.has('time_zone') && { timeZone: requireTimeZone('time_zone', timeZone ?? '') }),
  };
}

async function refusingTakenEmail<T>(write: Promise<T>): Promise<T> {
  return write.catch((error: unknown) => {
    throw isUniqueViolation(error)
      ? invalidRequest('email', 'A user with this email exists already.')
      : error;
  });
}

function requireEmail(email: string): string {
  if (email.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(email)) return email;
  throw invalidField('email', 'must be an address such as ada@example.com.');
}

function requireSearchText(text: string): string {
  if (text !== '' && text.length <= MAX_EMAIL_CHARACTERS && isStorable(text)) return text;
  throw invalidField('text', `must have 1 to ${MAX_EMAIL_CHARACTERS} characters and no U+0000.`);
}

/** Empty counts as absent. */
function readName(field: string, name: string | undefined): string | null {
  return requireShort(field, name ?? '') || null;
}

/** @throws INVALID_REQUEST for a text over 100 code points, or one that PostgreSQL cannot store. */
export function requireShort(field: string, text: string): string {
  if (isStorable(text) && codePointLength(text) <= MAX_NAME_CODE_POINTS) return text;
  throw invalidField(field, `must have at most ${MAX_NAME_CODE_POINTS} characters and no U+0000.`);
}

export function userNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', { message: 'There is no such user.' });
}

/** In lower case. @throws NOT_FOUND for an ID that is not a UUID, as for an unknown one. */
export function requireUserId(text: string): string {
  const userId = readUuid(text);
  if (userId === undefined) throw userNotFound();
  return userId;
}

export function toUserMessage(user: User): UserInput {
  return {
    userId: user.userId,
    email: user.email,
    ...(user.firstName !== null && { firstName: user.firstName }),
    ...(user.lastName !== null && { lastName: user.lastName }),
    plan: enumName('PLAN', user.plan),
    timeZone: user.timeZone,
    createTime: toTimestamp(user.createTime),
    updateTime: toTimestamp(user.updateTime),
    sandbox: isSandboxUser(user.userId),
  };
}
