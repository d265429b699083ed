// What a failure to send a mail means: try again, or never to this address. Reasons name no address.
import type { SendResult } from '../channel.ts';

/** What nodemailer's errors tell. `command` is the SMTP command that was answered or waited for. */
export type SmtpFailure = {
  code?: string | undefined;
  command?: string | undefined;
  responseCode?: number | undefined;
  response?: string | undefined;
};

/** The commands that are about this recipient and this message. A refused login or sender is no fault of theirs. */
const ABOUT_RECIPIENT = /^(RCPT TO|DATA)\b/;

/** Such a message may well arrive, and each further one is a double. */
const UNTOLD_RETRY_MS = 30 * 60_000;

/** 5xx about the recipient or the message is permanent; all else is temporary. `isHandedOver`: the server has the whole message. */
export function toSendResult(
  { code = '', command = '', responseCode, response = '' }: SmtpFailure,
  isHandedOver = false,
): SendResult {
  if (isHandedOver && (code === 'EABORT' || code === 'ETIMEDOUT')) {
    const reason = 'The mail server got the message, and did not say in time whether it takes it.';
    return { result: 'retry', reason, retryAfterMs: UNTOLD_RETRY_MS };
  }
  if (code === 'EABORT' || code === 'ETIMEDOUT')
    return { result: 'retry', reason: 'The mail server did not answer in time.' };
  if (responseCode === undefined) {
    return { result: 'retry', reason: `The mail server could not be reached (${code || 'no answer'}).` };
  }
  // The server's own text can hold the address, so only its status codes are told.
  const [enhanced] = /(?<=^\d{3}[ -])[245]\.\d{1,3}\.\d{1,3}\b/.exec(response) ?? [];
  const status = [responseCode, enhanced].filter(Boolean).join(' ');
  if (responseCode < 500) return { result: 'retry', reason: `The mail server refused for now (${status}).` };
  if (ABOUT_RECIPIENT.test(command))
    return { result: 'failed', reason: `The mail server refused the message (${status}).`, isGone: false };
  return { result: 'retry', reason: `The mail server refused this sender (${status}).` };
}
