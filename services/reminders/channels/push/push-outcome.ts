// What a push service's answer means (RFC 8030, section 5 and 7.3).
import type { SendResult } from '../channel.ts';

/** Beyond this, nobody waits for a push service: reminders are given up after 2 h. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** `retryAfter`: the header Retry-After. 404 and 410 end the subscription; 429 and 5xx are temporary. */
export function toSendResult(status: number, retryAfter: string | undefined, now: Date): SendResult {
  if (status >= 200 && status < 300) return { result: 'sent' };
  if (status === 404 || status === 410)
    return {
      result: 'failed',
      reason: `The push service no longer knows this browser (${status}).`,
      isGone: true,
    };
  if (status === 429 || status >= 500) {
    const retryAfterMs = readRetryAfter(retryAfter, now);
    const reason = `The push service refused for now (${status}).`;
    return { result: 'retry', reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  return { result: 'failed', reason: `The push service refused the message (${status}).`, isGone: false };
}

/** Seconds or a date (RFC 9110, section 10.2.3) in milliseconds from `now`; undefined for anything else. */
function readRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
