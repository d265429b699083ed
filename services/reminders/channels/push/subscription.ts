// What a push subscription must be: an address that a message may go to, and keys that it can be encrypted for.
import { ECDH } from 'node:crypto';
import { isIP } from 'node:net';
import type { PushAddress } from '../channel.ts';
import { CURVE, type ReceiverKeys } from './encryption.ts';
import type { PushNetwork } from './public-address.ts';

const MAX_ENDPOINT_CHARACTERS = 2000;
/** Printable ASCII, as in RFC 3986. PostgreSQL stores no NUL, and its index entries end at 2,704 bytes. */
const URL_CHARACTERS = /^[\x21-\x7e]+$/;
const PUBLIC_KEY_BYTES = 65;
const SECRET_BYTES = 16;

/** `problem`: what is wrong with the field, such as "must be a UUID.". */
export type SubscriptionProblem = { field: keyof PushAddress; problem: string };
type Rules = Pick<PushNetwork, 'allowHttp' | 'isAllowed'>;

/** The first thing wrong with a subscription; undefined if it is sound. Looks nothing up: names are checked when sent to. */
export function subscriptionProblem(address: PushAddress, rules: Rules): SubscriptionProblem | undefined {
  if (readEndpoint(address.endpoint, rules) === undefined) {
    const scheme = rules.allowHttp ? 'an http or https' : 'a public https';
    const problem = `must be ${scheme} URL of at most 2,000 characters without a user name.`;
    return { field: 'endpoint', problem };
  }
  if (readPoint(address.p256dh) === undefined)
    return { field: 'p256dh', problem: 'must be an uncompressed point of P-256 in base64url.' };
  if (decode(address.auth, SECRET_BYTES) === undefined)
    return { field: 'auth', problem: 'must be 16 bytes in base64url.' };
  return undefined;
}

/** undefined for a URL that no message may be sent to, as far as it tells without a lookup. */
export function readEndpoint(endpoint: string, { allowHttp, isAllowed }: Rules): URL | undefined {
  if (endpoint.length > MAX_ENDPOINT_CHARACTERS || !URL_CHARACTERS.test(endpoint)) return undefined;
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  const host = hostOf(url);
  return isIP(host) !== 0 && !isAllowed(host) ? undefined : url;
}

/** The keys of a sound subscription; undefined for others. */
export function readReceiverKeys(address: PushAddress): ReceiverKeys | undefined {
  const p256dh = readPoint(address.p256dh);
  const auth = decode(address.auth, SECRET_BYTES);
  return p256dh && auth && { p256dh, auth };
}

/** Without the brackets of an IPv6 address. */
const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '');

function readPoint(text: string): Buffer | undefined {
  const point = decode(text, PUBLIC_KEY_BYTES);
  if (point?.[0] !== 4) return undefined;
  try {
    // Throws for a point that is not on the curve.
    ECDH.convertKey(point, CURVE);
    return point;
  } catch {
    return undefined;
  }
}

/** base64url, with or without padding. */
function decode(text: string, bytes: number): Buffer | undefined {
  if (text.length > 2 * bytes || !/^[\w-]+={0,2}$/.test(text)) return undefined;
  const decoded = Buffer.from(text, 'base64url');
  return decoded.length === bytes ? decoded : undefined;
}
