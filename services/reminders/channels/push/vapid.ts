// How a push service knows the sender: VAPID, RFC 8292.
import { createECDH, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { CURVE } from './encryption.ts';

/** `publicKey`: an uncompressed point of P-256 in base64url, which browsers subscribe with. */
export type VapidKeys = { publicKey: string; privateKey: KeyObject };

/** RFC 8292 allows 24 h; half of it leaves room for clocks that differ. */
const VALID_FOR_SECONDS = 12 * 3600;

/** New keys in the form of `readVapidKeys`: the public and the private key in base64url, with a colon between. */
export function makeVapidKeys(): string {
  const pair = createECDH(CURVE);
  const publicKey = pair.generateKeys('base64url');
  return `${publicKey}:${padded(pair.getPrivateKey()).toString('base64url')}`;
}

/** Reads `PUBLIC:PRIVATE`, 65 and 32 bytes in base64url. @throws Error that does not hold the keys. */
export function readVapidKeys(text: string): VapidKeys {
  const [, publicKey = '', secret = ''] = /^([\w-]{87}):([\w-]{43})$/.exec(text) ?? [];
  const pair = createECDH(CURVE);
  try {
    pair.setPrivateKey(Buffer.from(secret, 'base64url'));
  } catch {
    throw new Error('must be PUBLIC:PRIVATE, two keys of P-256 in base64url of 87 and 43 characters');
  }
  if (pair.getPublicKey('base64url') !== publicKey)
    throw new Error('has a public key that is not that of the private one');
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
  const jwk = { kty: 'EC', crv: 'P-256', x, y, d: secret };
  return { publicKey, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) };
}

/** The Authorization header for a push service. `subject`: a mailto: or https: URL that reaches the operator. */
export function vapidAuthorization(
  { publicKey, privateKey }: VapidKeys,
  { audience, subject, now }: { audience: string; subject: string; now: Date },
): string {
  const expiry = Math.floor(now.getTime() / 1000) + VALID_FOR_SECONDS;
  const claims = { aud: audience, exp: expiry, sub: subject };
  const signed = `${encoded({ typ: 'JWT', alg: 'ES256' })}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `vapid t=${signed}.${signature.toString('base64url')}, k=${publicKey}`;
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Node leaves out leading zeros. */
const padded = (privateKey: Buffer) => Buffer.concat([Buffer.alloc(32 - privateKey.length), privateKey]);
