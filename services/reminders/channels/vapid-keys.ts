// The keys by which push services know the sender: VAPID, RFC 8292.
import { createECDH } from 'node:crypto';
import webPush from 'web-push';

/** Both in base64url; `publicKey`, an uncompressed point of P-256, is what browsers subscribe with. */
export type VapidKeys = { publicKey: string; privateKey: string };

/** New keys in the form of `readVapidKeys`: the public and the private key with a colon between. */
export function makeVapidKeys(): string {
  const { publicKey, privateKey } = webPush.generateVAPIDKeys();
  return `${publicKey}:${privateKey}`;
}

/** Reads `PUBLIC:PRIVATE`, 65 and 32 bytes in base64url. @throws Error that does not hold the keys. */
export function readVapidKeys(text: string): VapidKeys {
  const [, publicKey = '', privateKey = ''] = /^([\w-]{87}):([\w-]{43})$/.exec(text) ?? [];
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(Buffer.from(privateKey, 'base64url'));
  } catch {
    throw new Error('must be PUBLIC:PRIVATE, two keys of P-256 in base64url of 87 and 43 characters');
  }
  if (pair.getPublicKey('base64url') !== publicKey)
    throw new Error('has a public key that is not that of the private one');
  return { publicKey, privateKey };
}
