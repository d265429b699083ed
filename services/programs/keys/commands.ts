// The four commands of npm run keys; each returns what to print.
import type { parseArgs } from 'node:util';
import { required } from '../../../gateway/mapper.ts';
import type { ApiKey } from '../../../generated/accounts/v1/ApiKey.ts';
import type { User } from '../../../generated/accounts/v1/User.ts';
import { readAllowedAddresses, readExpireTime, scopesForNewKey } from '../../accounts/keys/rules.ts';
import { requireShort } from '../../accounts/users/handlers.ts';
import { hasReason, invalidField } from '../../platform/errors.ts';
import { pagesOf } from '../../platform/grpc/streams.ts';
import { isoTextOf, optionalIsoTextOf, parseDateTime, toTimestamp } from '../../platform/instants.ts';
import { printable } from '../../platform/text.ts';
import { requireEmail, toJson } from '../service-command.ts';
import { profileOf, type Subcommand, table } from '../subcommands.ts';
import type { AccountsClients } from './clients.ts';

export const OPTIONS = {
  email: { type: 'string' },
  scopes: { type: 'string' },
  name: { type: 'string' },
  'expire-time': { type: 'string' },
  'allowed-addresses': { type: 'string' },
  plan: { type: 'string' },
  'time-zone': { type: 'string' },
  'first-name': { type: 'string' },
  'last-name': { type: 'string' },
  sandbox: { type: 'boolean' },
  json: { type: 'boolean', default: false },
} as const;

export type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

type Command = (clients: AccountsClients, operands: readonly string[], options: Options) => Promise<string>;
const PROGRAM = 'npm run keys';

const CALL = { requestId: crypto.randomUUID() };

const create: Command = async (clients, _operands, options) => {
  const { name = '' } = options;
  const [email, profile, scopes] = [requireEmail(options, PROGRAM), profileOf(options), scopesOf(options)];
  const limits = limitsOf(options);
  // Accounts checks the same, but only after there is a user.
  scopesForNewKey(scopes);
  requireShort('name', name);
  readExpireTime(limits.expireTime ?? null, new Date());
  readAllowedAddresses(limits.allowedAddresses ?? []);
  const user = await findOrMakeUser(clients, email, { profile, sandbox: options.sandbox ?? false });
  const request = { userId: user.userId, name, scopes, ...limits };
  return showNewKey(await clients.apiKeys.createApiKey(request, CALL), user.email, options);
};

const list: Command = async (clients, _operands, options) => {
  const { user } = await clients.users.findUserByEmail({ email: requireEmail(options, PROGRAM) }, CALL);
  const apiKeys = await listAllKeys(clients, required(user).userId);
  if (options.json) return toJson(apiKeys.map(describe));
  if (apiKeys.length === 0) return 'No keys yet. Create one with "npm run keys -- create --email E".\n';
  const header = ['ID', 'NAME', 'STATE', 'CREATED', 'LAST USED', 'FROM', 'SCOPES'];
  const rows = apiKeys
    .map(describe)
    .map((key) => [
      key.id,
      printable(key.name) || '-',
      stateOf(key, Date.now()),
      key.createdAt,
      key.lastUsedAt ?? 'never',
      key.allowedAddresses.join(' ') || 'anywhere',
      key.scopes.join(' '),
    ]);
  return table([header, ...rows]);
};

const rotate: Command = async (clients, [apiKeyId = ''], options) => {
  // Read before the rotation: the new key is shown only once, so nothing may fail after it.
  const [old] = (await clients.apiKeys.findApiKeys({ apiKeyId }, CALL)).apiKeys;
  const user = old && (await clients.users.getUser({ userId: old.userId }, CALL)).user;
  const made = await clients.apiKeys.rotateApiKey(
    { apiKeyId, scopes: scopesOf(options), ...limitsOf(options) },
    CALL,
  );
  return showNewKey(made, user?.email ?? '', options);
};

const revoke: Command = async (clients, [apiKeyId = ''], options) => {
  const { apiKey } = await clients.apiKeys.revokeApiKey({ apiKeyId }, CALL);
  const revoked = describe(required(apiKey));
  return options.json ? toJson(revoked) : `Revoked ${revoked.id}.\n`;
};

const PROFILE = ['plan', 'time-zone', 'first-name', 'last-name'] as const;

type KeysCommand = Omit<Subcommand<AccountsClients, Options>, 'run'> & { run: Command };

export const COMMANDS: Readonly<Record<string, KeysCommand>> = {
  create: {
    run: create,
    takes: ['email', 'scopes', 'name', 'expire-time', 'allowed-addresses', 'sandbox', ...PROFILE],
  },
  list: { run: list, takes: ['email'] },
  rotate: { run: rotate, takes: ['scopes', 'expire-time', 'allowed-addresses'], takesId: true },
  revoke: { run: revoke, takes: [], takesId: true },
};

async function listAllKeys({ apiKeys }: AccountsClients, userId: string): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  for await (const page of pagesOf((asked) => apiKeys.listApiKeys({ userId, ...asked }, CALL)))
    keys.push(...page.apiKeys);
  return keys;
}

type Profile = ReturnType<typeof profileOf>;

/** @throws INVALID_REQUEST where there is such a user who is not sandbox, and is asked to be one. */
async function findOrMakeUser(
  { users, userEvents }: AccountsClients,
  email: string,
  { profile, sandbox }: { profile: Profile; sandbox: boolean },
): Promise<User> {
  try {
    const { user } = await users.findUserByEmail({ email }, CALL);
    const existing = required(user);
    if (sandbox && !existing.sandbox)
      throw invalidField('sandbox', 'is for new users: this one exists, and cannot become a sandbox user.');
    if (Object.keys(profile).length === 0) return existing;
    const { userId } = existing;
    const answer = await users.updateUser({ userId, ...profile }, CALL);
    if (!answer.unchanged)
      await userEvents.recordUserEvent({ userId, action: 'updateUser', fields: Object.keys(profile) }, CALL);
    return required(answer.user);
  } catch (error) {
    if (!hasReason(error, 'NOT_FOUND')) throw error;
    return required((await users.createUser({ email, ...profile, sandbox }, CALL)).user);
  }
}

function showNewKey(made: { apiKey: ApiKey | null; key: string }, email: string, { json }: Options): string {
  const { id, userId, scopes, createdAt, expiresAt, allowedAddresses } = describe(required(made.apiKey));
  if (json)
    return toJson({ id, key: made.key, userId, email, scopes, createdAt, expiresAt, allowedAddresses });
  const lines: [string, string][] = [
    ['Key', made.key],
    ['Id', id],
    ['User', `${email} (${userId})`],
    ['Scopes', scopes.join(' ')],
    ['Ends', expiresAt ?? 'never'],
    ['From', allowedAddresses.join(' ') || 'anywhere'],
  ];
  return `${table(lines)}\nThe key is shown only once. Store it in a safe place.\n`;
}

function describe(key: ApiKey) {
  return {
    id: key.apiKeyId,
    userId: key.userId,
    name: key.name,
    scopes: key.scopes,
    createdAt: isoTextOf(key.createTime, 'create_time'),
    lastUsedAt: optionalIsoTextOf(key.lastUsedTime),
    revokedAt: optionalIsoTextOf(key.revokeTime),
    expiresAt: optionalIsoTextOf(key.expireTime),
    allowedAddresses: key.allowedAddresses,
  };
}

const DAY_MS = 86_400_000;
/** How many days before its expiry the state of a key warns. */
const WARNED_DAYS = 14;

/** `now`: Unix milliseconds. */
function stateOf({ revokedAt, expiresAt }: ReturnType<typeof describe>, now: number): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return 'valid';
  const leftMs = Date.parse(expiresAt) - now;
  if (leftMs <= 0) return 'expired';
  const days = Math.floor(leftMs / DAY_MS);
  if (days >= WARNED_DAYS) return `valid until ${expiresAt}`;
  return days === 0 ? 'ENDS WITHIN A DAY' : `ENDS IN ${days} DAY${days === 1 ? '' : 'S'}`;
}

/** --expire-time takes an instant or a number of days; --allowed-addresses a list. @throws INVALID_REQUEST. */
function limitsOf(options: Options) {
  const { 'expire-time': expireTime, 'allowed-addresses': addresses } = options;
  return {
    ...(expireTime !== undefined && { expireTime: toTimestamp(parseExpireTime(expireTime)) }),
    ...(addresses !== undefined && { allowedAddresses: addresses.split(',').map((text) => text.trim()) }),
  };
}

function parseExpireTime(text: string): Date {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  const time = days === undefined ? parseDateTime(text) : new Date(Date.now() + Number(days) * DAY_MS);
  if (time === undefined)
    throw invalidField(
      'expire_time',
      'must be days such as 90d, or an instant such as 2027-01-31T09:00:00Z.',
    );
  return time;
}

function scopesOf({ scopes }: Options): string[] {
  return scopes === undefined ? [] : scopes.split(',').map((scope) => scope.trim());
}
