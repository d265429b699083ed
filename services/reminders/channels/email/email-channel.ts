// Sends reminders by e-mail: through an SMTP server, or as files into a folder.
import type { Readable } from 'node:stream';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { atMost } from '../../../platform/concurrency.ts';
import { errorCode } from '../../../platform/thrown.ts';
import type { Channel, EmailAddress, ReminderMessage, SendResult } from '../channel.ts';
import { type EmailStyle, toEmailText } from './email-text.ts';
import { createMailFolder } from './mail-folder.ts';
import { composeMail } from './mime.ts';
import { type SmtpFailure, toSendResult } from './smtp-outcome.ts';

export type EmailOptions = EmailStyle & {
  /** An SMTP server as `smtp://user:password@host:port` or `smtps://`, or a folder for .eml files. */
  destination: { smtpUrl: string } | { mailDir: string };
  /** Address of the sender, with or without a name: `Reminders <reminders@example.com>`. */
  mailFrom: string;
  now: () => Date;
  /** Connections to the SMTP server, each with one message at a time; more messages wait. Default 10. */
  maxConnections?: number;
  /**
   * Milliseconds from a free connection until a message counts as not sent. It waits half as long for one. Default 28,000: with the
   * wait less than LONGEST_SEND_MS (sending/attempt.ts), after which an attempt is given up.
   */
  sendTimeoutMs?: number;
};

const DNS_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MS = 10_000;
/** Longest silence of the server within a conversation. */
const SILENCE_MS = 30_000;
const MAX_RESPONSE_BYTES = 16 * 1024;

/** What accounts accepts, and nothing that means something else in SMTP or in a header. */
const ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,252}$/;

/** Both kinds of destination get the same mail. `send` never throws. */
export function createEmailChannel(options: EmailOptions): Channel<EmailAddress> {
  const { destination, mailFrom, now } = options;
  const deliver =
    'smtpUrl' in destination ? toServer(destination.smtpUrl, options) : toFolder(destination.mailDir);
  const domain = domainOf(mailFrom);
  return {
    async send(message, { email }) {
      if (!ADDRESS.test(email))
        return { result: 'failed', reason: 'This is not an e-mail address.', isGone: false };
      const { subject, ...bodies } = toEmailText(message, options);
      const headers = {
        ...{ From: mailFrom, To: email, Subject: subject },
        'Message-ID': `<${message.deliveryId}@${domain}>`,
        Date: now().toUTCString().replace('GMT', '+0000'),
        ...unsubscribeHeaders(message),
        'Auto-Submitted': 'auto-generated',
      };
      const raw = composeMail({ headers, ...bodies });
      return deliver.send(message.deliveryId, {
        envelope: { from: mailFrom, to: { name: '', address: email } },
        raw,
      });
    },
    close: deliver.close,
  };
}

type Deliver = {
  send(deliveryId: string, mail: SendMailOptions): Promise<SendResult>;
  close(): Promise<void>;
};

function toServer(smtpUrl: string, { maxConnections = 10, sendTimeoutMs = 28_000 }: EmailOptions): Deliver {
  const transport = createTransport({
    ...{ pool: true, url: smtpUrl, maxConnections },
    // Deliveries are tried again by their own rules, which know about other replicas.
    maxRequeues: 0,
    dnsTimeout: DNS_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    greetingTimeout: CONNECTION_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    maxResponseSize: MAX_RESPONSE_BYTES,
  });
  const textOf = new WeakMap<AbortSignal, Readable>();
  transport.use('stream', ({ data: { signal }, message }, done) => {
    message.processFunc((text) => {
      if (signal) textOf.set(signal, text);
      return text;
    });
    done();
  });
  // Not in the transport's queue: a message that is given up while it is being sent arrives all the same, and then again.
  const onConnection = atMost(maxConnections);
  const send = async (mail: SendMailOptions): Promise<SendResult> => {
    const signal = AbortSignal.timeout(sendTimeoutMs);
    try {
      await transport.sendMail({ ...mail, signal });
      return { result: 'sent' };
    } catch (error) {
      const isHandedOver = textOf.get(signal)?.readableEnded ?? false;
      // nodemailer's errors; every field is optional.
      return toSendResult(error as SmtpFailure, isHandedOver);
    }
  };
  return {
    send(_deliveryId, mail) {
      const begun = performance.now();
      return onConnection(async () => {
        const hasWaitedLong = performance.now() - begun > sendTimeoutMs / 2;
        return hasWaitedLong ? toSendResult({ code: 'ETIMEDOUT' }) : send(mail);
      });
    },
    async close() {
      transport.close();
    },
  };
}

function toFolder(folder: string): Deliver {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const store = createMailFolder(folder);
  return {
    async send(deliveryId, mail) {
      try {
        const { message } = await transport.sendMail(mail);
        // The option `buffer` makes it one.
        await store(deliveryId, message as Buffer);
        return { result: 'sent' };
      } catch (error) {
        return {
          result: 'retry',
          reason: `The mail could not be written as a file (${errorCode(error) || 'unknown'}).`,
        };
      }
    },
    async close() {
      transport.close();
    },
  };
}

/** RFC 2369 and RFC 8058. The link is a URL of ours, and must not be folded or encoded. */
function unsubscribeHeaders({
  unsubscribeUrl,
}: ReminderMessage): Record<string, { prepared: true; value: string }> {
  return {
    'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
    'List-Unsubscribe-Post': { prepared: true, value: 'List-Unsubscribe=One-Click' },
  };
}

function domainOf(mailFrom: string): string {
  return /@([^@>\s]+)>?\s*$/.exec(mailFrom)?.[1] ?? 'localhost';
}
