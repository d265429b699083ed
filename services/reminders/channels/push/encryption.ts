// Message encryption for Web Push: RFC 8291, in the content coding aes128gcm of RFC 8188 with one record.
import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

export const CURVE = 'prime256v1';
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What a push service must accept at least (RFC 8030, section 7.2). */
const MAX_BODY_BYTES = 4096;
/** Salt, record size, length of the key ID, and the public key as the key ID. */
const HEADER_BYTES = 16 + 4 + 1 + 65;
const MAX_PAYLOAD_BYTES = MAX_BODY_BYTES - HEADER_BYTES - TAG_BYTES - 1;
const LAST_RECORD = 2;

/** Keys of a subscription: the public key as an uncompressed point of P-256, 65 bytes, and the secret, 16 bytes. */
export type ReceiverKeys = { p256dh: Buffer; auth: Buffer };
/** The sender's private key, 32 bytes, and 16 bytes of salt. New for each message; given in tests only. */
type SenderSecrets = { privateKey: Buffer; salt: Buffer };

/** The body of a push request. @throws RangeError for a payload over 3,993 bytes; Error for a key that is no point of the curve. */
export function encryptPush(payload: Buffer, receiver: ReceiverKeys, secrets?: SenderSecrets): Buffer {
  if (payload.length > MAX_PAYLOAD_BYTES)
    throw new RangeError(`a push payload over ${MAX_PAYLOAD_BYTES} bytes`);
  const sender = createECDH(CURVE);
  if (secrets === undefined) sender.generateKeys();
  else sender.setPrivateKey(secrets.privateKey);
  const salt = secrets?.salt ?? randomBytes(16);
  const publicKey = sender.getPublicKey();
  const context = Buffer.concat([Buffer.from('WebPush: info\0'), receiver.p256dh, publicKey]);
  const shared = derive(sender.computeSecret(receiver.p256dh), receiver.auth, context, 32);
  const key = derive(shared, salt, Buffer.from('Content-Encoding: aes128gcm\0'), KEY_BYTES);
  const nonce = derive(shared, salt, Buffer.from('Content-Encoding: nonce\0'), NONCE_BYTES);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const header = Buffer.alloc(HEADER_BYTES);
  salt.copy(header, 0);
  header.writeUInt32BE(MAX_BODY_BYTES, 16);
  header.writeUInt8(publicKey.length, 20);
  publicKey.copy(header, 21);
  const text = [cipher.update(payload), cipher.update(Buffer.of(LAST_RECORD)), cipher.final()];
  return Buffer.concat([header, ...text, cipher.getAuthTag()]);
}

const derive = (secret: Buffer, salt: Buffer, info: Buffer, bytes: number) =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, bytes));
