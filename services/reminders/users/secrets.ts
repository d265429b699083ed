// Secrets in links: 32 bytes as base64url, looked up by the SHA-256 of the bytes.
import { hash } from 'node:crypto';

/** Bytes of an unsubscribe token and of a feed's secret. */
export const SECRET_BYTES = 32;

export function hashOfSecret(secret: Buffer): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** The hash of a secret as it stands in a link; undefined for a text that is none. */
export function hashOfLink(text: string): Buffer | undefined {
  const secret = Buffer.from(text, 'base64url');
  const isSecret = secret.length === SECRET_BYTES && secret.toString('base64url') === text;
  return isSecret ? hashOfSecret(secret) : undefined;
}
