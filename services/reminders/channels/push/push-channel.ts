// Sends reminders to browsers by Web Push: RFC 8030, encrypted, to public https addresses only.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { errorCode, toError } from '../../../platform/thrown.ts';
import { LATE_AFTER_MS } from '../../reminders/reminder.ts';
import type { Channel, PushAddress, ReminderMessage, SendResult } from '../channel.ts';
import { dueSentence, toLine } from '../message-text.ts';
import { encryptPush } from './encryption.ts';
import { checkedLookup, ForbiddenAddress, type PushNetwork } from './public-address.ts';
import { toSendResult } from './push-outcome.ts';
import { readEndpoint, readReceiverKeys } from './subscription.ts';
import { type VapidKeys, vapidAuthorization } from './vapid.ts';

export type PushOptions = {
  keys: VapidKeys;
  /** A mailto: or https: URL at which push services reach the operator. */
  subject: string;
  /** What the notification opens; undefined for none. */
  appUrl: string | undefined;
  showTitles: boolean;
  network: PushNetwork;
  now: () => Date;
  /** Certificates to trust instead of the usual authorities. */
  ca?: string | Buffer;
  /** After this many milliseconds a message counts as not sent. Default 10,000. */
  timeoutMs?: number;
};

/** As many as a process sends to one host at once: one that is given up after a wait for a connection can arrive, and then again. */
const MAX_CONNECTIONS_PER_HOST = 32;
const MAX_RESPONSE_HEAD_BYTES = 8 * 1024;
/** Of a response body, which nobody reads. */
const MAX_RESPONSE_BYTES = 16 * 1024;
const MAX_TITLES_CHARACTERS = 300;

/** `send` never throws. */
export function createPushChannel(options: PushOptions): Channel<PushAddress> {
  const { keys, subject, network, now, ca, timeoutMs = 10_000 } = options;
  const pool = { keepAlive: true, maxSockets: MAX_CONNECTIONS_PER_HOST, timeout: 60_000 };
  const agents = { 'http:': new http.Agent(pool), 'https:': new https.Agent({ ...pool, ...(ca && { ca }) }) };
  const lookup = checkedLookup(network);
  const begin = (url: URL, message: ReminderMessage, body: Buffer): ClientRequest => {
    const authorization = vapidAuthorization(keys, { audience: url.origin, subject, now: now() });
    const headers = {
      authorization,
      'content-encoding': 'aes128gcm',
      'content-length': body.length,
      'content-type': 'application/octet-stream',
      // At most 32 characters of base64url, which is a UUID without hyphens.
      topic: message.deliveryId.replaceAll('-', ''),
      ttl: secondsLeft(message, now()),
      urgency: 'normal',
    };
    const bounds = { maxHeaderSize: MAX_RESPONSE_HEAD_BYTES, signal: AbortSignal.timeout(timeoutMs) };
    const { request } = url.protocol === 'http:' ? http : https;
    const agent = url.protocol === 'http:' ? agents['http:'] : agents['https:'];
    return request(url, { method: 'POST', headers, agent, lookup, ...bounds });
  };
  return {
    async send(message, address) {
      const url = readEndpoint(address.endpoint, network);
      const receiver = readReceiverKeys(address);
      if (url === undefined || receiver === undefined) return failed('This push address is not allowed.');
      try {
        const body = encryptPush(Buffer.from(JSON.stringify(toPayload(message, options))), receiver);
        const response = await headOf(begin(url, message, body), body);
        discardBody(response);
        return toSendResult(response.statusCode ?? 0, response.headers['retry-after'], now());
      } catch (error) {
        return toFailure(error);
      }
    },
    async close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** What the service worker of the learning app gets. */
function toPayload({ dueCount, titles, isTest }: ReminderMessage, { appUrl, showTitles }: PushOptions) {
  const title = `${isTest ? 'Test: ' : ''}${dueSentence(dueCount)}`;
  const named = showTitles
    ? toLine(titles.map((each) => toLine(each, MAX_TITLES_CHARACTERS)).join(' · '), MAX_TITLES_CHARACTERS)
    : '';
  return { title, body: named || 'Time to review.', url: appUrl ?? null, dueCount };
}

/** Resolves with the head of the response. A redirect is a response like others: nothing follows it. */
function headOf(request: ClientRequest, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
}

/** How long the push service keeps a message for a browser that is away; later it would be at the wrong time of day. */
function secondsLeft({ dueTime }: ReminderMessage, now: Date): number {
  return Math.max(0, Math.floor((dueTime.getTime() + LATE_AFTER_MS - now.getTime()) / 1000));
}

/** Lets a short body pass so that the connection can be used again, and cuts off a long one. */
function discardBody(response: IncomingMessage): void {
  let bytes = 0;
  response.on('error', () => {});
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) response.destroy();
  });
}

/** Reasons name neither the endpoint nor its host. */
function toFailure(error: unknown): SendResult {
  if (error instanceof ForbiddenAddress) return failed('This push address is not allowed.');
  if (error instanceof RangeError) return failed('The message is too long for a push service.');
  const { name } = toError(error);
  const isLate = name === 'AbortError' || name === 'TimeoutError';
  const reason = isLate
    ? 'The push service did not answer in time.'
    : `The push service could not be reached (${errorCode(error) || 'unknown'}).`;
  return { result: 'retry', reason };
}

const failed = (reason: string): SendResult => ({ result: 'failed', reason, isGone: false });
