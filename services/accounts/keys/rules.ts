// What an API key is: 256 random bits with a checksum, stored only as an HMAC; and what its scopes allow.
import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import { crc32 } from 'node:zlib';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import { fromTimestamp, type Timestamp } from '../../platform/instants.ts';
import { readUuid } from '../../platform/uuid.ts';

const PREFIX = 'rmk_live_';
const SECRET_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;
/** Of the secret, shown to recognise a key by: 48 of its 256 bits. */
const VISIBLE_CHARACTERS = 8;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^rmk_live_[0-9A-Za-z]{49}$/;

/** A pepper: the HMAC secret and its version, which is stored with each hash. */
export type Pepper = { version: string; secret: string };

/** `randomBytes(32)` returns the key's 256 bits, encoded in 43 base62 digits. */
export function generateKey(randomBytes: (size: number) => Buffer): string {
  const body = PREFIX + toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_CHARACTERS);
  return body + checksum(body);
}

/** Whether the text has a key's form and checksum: a mistyped key is refused without a query. */
export function isWellFormedKey(text: string): boolean {
  if (!FORM.test(text)) return false;
  return checksum(text.slice(0, -CHECKSUM_CHARACTERS)) === text.slice(-CHECKSUM_CHARACTERS);
}

/** What is stored and shown of a key, to recognise it by. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX.length + VISIBLE_CHARACTERS);
}

/** Whether the text can be the beginning of a key's visible prefix. */
export function isKeyPrefix(text: string): boolean {
  return new RegExp(`^${PREFIX}[0-9A-Za-z]{0,${VISIBLE_CHARACTERS}}$`).test(text);
}

export function hashKey(key: string, pepper: Pepper): Buffer {
  return createHmac('sha256', pepper.secret).update(key).digest();
}

/** The check value that detects a wrong secret for a known version. */
export function pepperCheckValue(pepper: Pepper): Buffer {
  return createHmac('sha256', pepper.secret).update('pepper check value').digest();
}

/** CRC-32 (ISO 3309) in base62: detects every single mistyped character. */
function checksum(body: string): string {
  return toBase62(BigInt(crc32(body)), CHECKSUM_CHARACTERS);
}

function toBase62(number: bigint, length: number): string {
  let rest = number;
  let digits = '';
  for (let index = 0; index < length; index += 1) {
    digits = BASE62.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return digits;
}

/** All of them, in the order in which they are shown. */
export const SCOPES = [
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
] as const;
export type Scope = (typeof SCOPES)[number];

const DEFAULT_SCOPES: readonly Scope[] = ['materials:read', 'reviews:read', 'profile:read'];

/** Scopes for a new key without duplicates; default: the read-oriented ones. @throws INVALID_SCOPE for an unknown scope. */
export function scopesForNewKey(named: readonly string[]): readonly Scope[] {
  return named.length === 0 ? DEFAULT_SCOPES : knownScopes(named);
}

/** Scopes for a replacement key; default: the same. @throws INVALID_SCOPE for a scope that is unknown or not in the old key. */
export function scopesForRotation(named: readonly string[], old: readonly Scope[]): readonly Scope[] {
  if (named.length === 0) return old;
  const wanted = knownScopes(named);
  const wider = wanted.find((scope) => !old.includes(scope));
  if (wider === undefined) return wanted;
  throw new ServiceError('INVALID_SCOPE', {
    message: `A replacement can only have scopes of the old key, which lacks ${wider}.`,
  });
}

function knownScopes(named: readonly string[]): readonly Scope[] {
  const unknown = named.find((name) => !SCOPES.some((scope) => scope === name));
  if (unknown === undefined) return SCOPES.filter((scope) => named.includes(scope));
  throw new ServiceError('INVALID_SCOPE', {
    message: `${JSON.stringify(unknown.slice(0, 64))} is not a scope. Scopes: ${SCOPES.join(', ')}.`,
  });
}

const MAX_API_KEY_IDS = 100;

/** The distinct UUIDs; other IDs are dropped. @throws INVALID_REQUEST with the field unless there are 1 to 100. */
export function requireApiKeyIds(named: readonly string[]): readonly string[] {
  if (named.length < 1 || named.length > MAX_API_KEY_IDS)
    throw invalidField('api_key_ids', `must name 1 to ${MAX_API_KEY_IDS} keys.`);
  return [...new Set(named.flatMap((text) => readUuid(text) ?? []))];
}

const MAX_ALLOWED_ADDRESSES = 20;

/**
 * From where a key may be used, as ranges in CIDR notation, in lower case and without duplicates. An address alone is a range of one.
 * @throws INVALID_REQUEST with the field.
 */
export function readAllowedAddresses(named: readonly string[]): readonly string[] {
  if (named.length > MAX_ALLOWED_ADDRESSES)
    throw invalidField(
      'allowed_addresses',
      `must have at most ${MAX_ALLOWED_ADDRESSES} addresses or ranges.`,
    );
  return [...new Set(named.map(toRange))];
}

function toRange(text: string): string {
  const [, address = '', prefix] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text.trim()) ?? [];
  const version = isIP(address);
  const bits = version === 4 ? 32 : 128;
  if (version === 0 || Number(prefix ?? bits) > bits)
    throw invalidField(
      'allowed_addresses',
      `must hold IP addresses or ranges such as 203.0.113.0/24 or 2001:db8::/32; ${JSON.stringify(text.slice(0, 64))} is none.`,
    );
  return `${address.toLowerCase()}/${Number(prefix ?? bits)}`;
}

/** When a key ends; null: not given. @throws INVALID_REQUEST with the field if it is not in the future. */
export function readExpireTime(timestamp: Timestamp | null, now: Date): Date | null {
  if (timestamp === null) return null;
  const expireTime = fromTimestamp(timestamp, 'expire_time');
  if (expireTime <= now) throw invalidField('expire_time', 'must be in the future.');
  return expireTime;
}

/** The latest instant that a message can hold. */
const LATEST_MS = Date.UTC(10_000, 0, 1) - 1;

/** The end of a replacement that is given none: it lasts as long as the old key was made to last. Milliseconds are exact. */
export function expireTimeOfReplacement(
  old: { createTime: Date; expireTime: Date | null },
  createTime: Date,
): Date | null {
  if (old.expireTime === null) return null;
  const lifetimeMs = old.expireTime.getTime() - old.createTime.getTime();
  return new Date(Math.min(createTime.getTime() + lifetimeMs, LATEST_MS));
}
