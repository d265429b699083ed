// Sends reminders to browsers by Web Push: RFC 8030, encrypted (RFC 8291) and signed (RFC 8292) by the package web-push, to public
// https addresses only.
import { ECDH } from 'node:crypto';
import https from 'node:https';
import { isIP } from 'node:net';
import { RequestFilteringHttpsAgent } from 'request-filtering-agent';
import webPush from 'web-push';
import type { EnvironmentReader } from '../../platform/process/config.ts';
import { errorCode, toError } from '../../platform/thrown.ts';
import type { Channel, MessageSettings, PushAddress, ReminderMessage, SendResult } from './channel.ts';
import { dueSentence, toLine, toTitle } from './message-text.ts';
import { readVapidKeys, type VapidKeys } from './vapid-keys.ts';

/** From the environment. */
export type PushSettings = {
  /** undefined: push is off. */
  vapidKeys: VapidKeys | undefined;
  /** Whether messages may go to private addresses, for tests on one machine. */
  pushAllowPrivate: boolean;
};

export function readPushSettings(reader: EnvironmentReader): PushSettings {
  return { vapidKeys: readKeys(reader), pushAllowPrivate: reader.isOn('PUSH_ALLOW_PRIVATE') };
}

function readKeys(reader: EnvironmentReader): VapidKeys | undefined {
  const text = reader.text('VAPID_KEYS');
  try {
    return text === undefined ? undefined : readVapidKeys(text);
  } catch (error) {
    reader.problem(`VAPID_KEYS ${toError(error).message}`);
    return undefined;
  }
}

export type PushOptions = MessageSettings & {
  vapidKeys: VapidKeys;
  pushAllowPrivate: boolean;
  /** Where push services reach the operator: an address, with or without a name. */
  mailFrom: string;
  /** Certificates to trust instead of the usual authorities. */
  ca?: string | Buffer;
  /** After this many milliseconds a message counts as not sent. Default 10,000. */
  timeoutMs?: number;
};

const PARALLEL = 128;
/** Of a response body, which nobody reads. */
const MAX_RESPONSE_BYTES = 16 * 1024;
const MAX_TITLES_CHARACTERS = 300;
/** Of what a push service must accept at least, 4,096 bytes (RFC 8030, section 7.2). JSON makes of them twice as many at most. */
const MAX_TITLES_OCTETS = 1200;
const NOT_ALLOWED: SendResult = {
  result: 'failed',
  reason: 'This push address is not allowed.',
  cause: 'refused',
};

export type PushChannel = Channel & {
  /** Uncompressed point of P-256 in base64url, which browsers subscribe with. */
  publicKey: string;
  /** The first thing wrong with an address; undefined if messages may be sent to it. */
  problemOf(address: BrowserAddress): SubscriptionProblem | undefined;
};

export function createPushChannel(options: PushOptions): PushChannel {
  const { vapidKeys, mailFrom, pushAllowPrivate, ca, timeoutMs = 10_000 } = options;
  const [, operator = mailFrom] = /<([^<>]+)>/.exec(mailFrom) ?? [];
  const vapidDetails = { subject: `mailto:${operator}`, ...vapidKeys };
  const pool = { keepAlive: true, timeout: 60_000, ...(ca !== undefined && { ca }) };
  const agent = pushAllowPrivate ? new https.Agent(pool) : new RequestFilteringHttpsAgent(pool);
  const post = async (message: ReminderMessage, address: PushAddress, payload: Buffer) => {
    const { p256dh, auth } = address;
    const { headers, body } = webPush.generateRequestDetails(
      { endpoint: address.endpoint, keys: { p256dh, auth } },
      payload,
      {
        vapidDetails,
        contentEncoding: 'aes128gcm',
        TTL: secondsLeft(message),
        urgency: 'normal',
        // At most 32 characters of base64url, which is a UUID without hyphens.
        topic: message.deliveryId.replaceAll('-', ''),
      },
    );
    // Not sendNotification, which reads a response of any length.
    return answerOf(new URL(address.endpoint), { headers, agent, timeoutMs }, body);
  };
  return {
    publicKey: vapidKeys.publicKey,
    problemOf: (address) => subscriptionProblem(address, pushAllowPrivate),
    parallel: PARALLEL,
    async send(message, { subscription }) {
      if (subscription === null) return NOT_ALLOWED;
      const payload = Buffer.from(JSON.stringify(toPayload(message, options)));
      try {
        const { status, retryAfter } = await post(message, subscription, payload);
        const isOurs = subscription.vapidKey === vapidKeys.publicKey;
        return toSendResult(status, { retryAfter, now: message.sendTime, isOurs });
      } catch (error) {
        return toFailure(error);
      }
    },
    textOf(message) {
      const { title, body } = toPayload(message, options);
      return { subject: title, text: body };
    },
    async close() {
      agent.destroy();
    },
  };
}

/** What the service worker of the learning app gets. */
function toPayload({ dueCount, titles, isTest }: ReminderMessage, { appUrl, showTitles }: MessageSettings) {
  const title = `${isTest ? 'Test: ' : ''}${dueSentence(dueCount)}`;
  const named = showTitles
    ? toLine(
        titles.map((each) => toTitle(each, MAX_TITLES_CHARACTERS)).join(' · '),
        MAX_TITLES_CHARACTERS,
        MAX_TITLES_OCTETS,
      )
    : '';
  return { title, body: named || 'Time to review.', url: appUrl ?? null, dueCount };
}

/** How long the push service stores a message for a browser that is offline; later would be the wrong time of day. */
function secondsLeft({ expireTime, sendTime }: ReminderMessage): number {
  return Math.max(0, Math.floor((expireTime.getTime() - sendTime.getTime()) / 1000));
}

/** Resolves to status and Retry-After of the response. Does not follow redirects. */
function answerOf(
  url: URL,
  {
    headers,
    agent,
    timeoutMs,
  }: { headers: Record<string, string | number>; agent: https.Agent; timeoutMs: number },
  body: Buffer,
): Promise<{ status: number; retryAfter: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = https.request(url, {
      method: 'POST',
      headers,
      agent,
      signal: AbortSignal.timeout(timeoutMs),
    });
    request.on('error', reject);
    // After 101 and an upgrade, which nobody has asked for, there is neither a response nor an error.
    request.once('close', () => reject(new Error('closed without a response')));
    request.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
      // A short body passes, so that the connection can be used again; a long one is cut off.
      let bytes = 0;
      response.on('error', () => {});
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_RESPONSE_BYTES) response.destroy();
      });
    });
    request.end(body);
  });
}

/** Reasons name neither the endpoint nor its host. */
function toFailure(error: unknown): SendResult {
  const { name, message } = toError(error);
  // request-filtering-agent gives its error no code.
  if (/^DNS lookup .* is not allowed\./.test(message)) return NOT_ALLOWED;
  if (name === 'AbortError' || name === 'TimeoutError')
    return { result: 'retry', reason: 'The push service did not answer in time.' };
  const reason = `The push service could not be reached (${errorCode(error) || 'unknown'}).`;
  return { result: 'retry', reason };
}

/**
 * RFC 8030, sections 5 and 7.3, and RFC 8292, section 4.2. `retryAfter`: the header Retry-After. `isOurs`: whether the browser subscribed
 * for our present VAPID keys. 404 and 410 end the subscription. So do 400 (Apple), 401 (Mozilla) and 403 (Google) for one with other
 * keys, to which we can send nothing any more; for one with ours they are about us, such as a wrong clock or a malformed request. 429
 * and 5xx are temporary.
 */
export function toSendResult(
  status: number,
  { retryAfter, now, isOurs }: { retryAfter?: string | undefined; now: Date; isOurs: boolean },
): SendResult {
  if (status >= 200 && status < 300) return { result: 'sent' };
  if (status === 404 || status === 410) {
    const reason = `The push service no longer knows this browser (${status}).`;
    return { result: 'failed', reason, cause: 'gone' };
  }
  const mayBeAboutKeys = [400, 401, 403].includes(status);
  if (mayBeAboutKeys && !isOurs) {
    const reason = `The push service refused our keys for this browser (${status}).`;
    return { result: 'failed', reason, cause: 'gone' };
  }
  if (mayBeAboutKeys)
    return { result: 'retry', reason: `The push service refused this sender (${status}).`, refusesUs: true };
  if (status === 429 || status >= 500) {
    const retryAfterMs = readRetryAfter(retryAfter, now);
    const reason = `The push service refused for now (${status}).`;
    return { result: 'retry', reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  return { result: 'failed', reason: `The push service refused the message (${status}).`, cause: 'refused' };
}

/** Seconds or a date (RFC 9110, section 10.2.3) in milliseconds from `now`; undefined for anything else. */
function readRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : ms;
}

const MAX_ENDPOINT_CHARACTERS = 2000;
/** Printable ASCII, as in RFC 3986. PostgreSQL stores no NUL, and its index entries end at 2,704 bytes. */
const URL_CHARACTERS = /^[\x21-\x7e]+$/;
const PUBLIC_KEY_BYTES = 65;
const SECRET_BYTES = 16;

/** What a browser tells of its subscription. */
export type BrowserAddress = Omit<PushAddress, 'vapidKey'>;
/** `problem`: what is wrong with the field, such as "must be a UUID.". */
type SubscriptionProblem = { field: keyof BrowserAddress; problem: string };

/**
 * The first problem of a subscription; undefined if it is valid. Does not resolve the host name: the address is checked when a message is
 * sent. A push service has a host name, so an IP address is refused, unless `allowPrivate`.
 */
export function subscriptionProblem(
  { endpoint, p256dh, auth }: BrowserAddress,
  allowPrivate: boolean,
): SubscriptionProblem | undefined {
  if (!isEndpoint(endpoint, allowPrivate)) {
    const named = allowPrivate ? 'an https URL' : 'an https URL with a host name,';
    const problem = `must be ${named} of at most 2,000 characters without a user name.`;
    return { field: 'endpoint', problem };
  }
  if (!isPoint(p256dh))
    return { field: 'p256dh', problem: 'must be an uncompressed point of P-256 in base64url.' };
  if (decode(auth, SECRET_BYTES) === undefined)
    return { field: 'auth', problem: 'must be 16 bytes in base64url.' };
  return undefined;
}

function isEndpoint(endpoint: string, allowPrivate: boolean): boolean {
  if (endpoint.length > MAX_ENDPOINT_CHARACTERS || !URL_CHARACTERS.test(endpoint)) return false;
  const url = URL.parse(endpoint);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return false;
  return allowPrivate || isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0;
}

function isPoint(text: string): boolean {
  const point = decode(text, PUBLIC_KEY_BYTES);
  if (point?.[0] !== 4) return false;
  try {
    // Throws for a point that is not on the curve.
    ECDH.convertKey(point, 'prime256v1');
    return true;
  } catch {
    return false;
  }
}

/** base64url, with or without padding. */
function decode(text: string, bytes: number): Buffer | undefined {
  if (text.length > 2 * bytes || !/^[\w-]+={0,2}$/.test(text)) return undefined;
  const decoded = Buffer.from(text, 'base64url');
  return decoded.length === bytes ? decoded : undefined;
}
