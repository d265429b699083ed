// Sends reminders by e-mail: through an SMTP server, or as files into a folder.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { cutsPassword } from '../../platform/process/common-config.ts';
import type { EnvironmentReader } from '../../platform/process/config.ts';
import { errorCode } from '../../platform/thrown.ts';
import type { Channel, MessageSettings, MessageText, ReminderMessage, SendResult } from './channel.ts';
import { dueSentence, toLine, toTimeAndDays, toTitle } from './message-text.ts';

/** From the environment. */
export type EmailSettings = {
  /** Where mails go: a server as `smtp://user:password@host:port` or `smtps://`, or a folder for .eml files. */
  mail: { smtpUrl: string } | { mailDir: string };
  /** Address of the sender, with or without a name: `Reminders <reminders@example.com>`. */
  mailFrom: string;
  /** Connections to the mail server, each with one message at a time. */
  smtpConnections: number;
};

const ADDRESS = "[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+";
/** A colon outside quotes would begin a group of addresses. */
const SENDER = new RegExp(`^(?:${ADDRESS}|(?:"[^"<>]*"|[^"<>@:]*)\\s*<${ADDRESS}>)$`);

export function readEmailSettings(reader: EnvironmentReader): EmailSettings {
  const smtpUrl = reader.text('SMTP_URL');
  const mailDir = reader.text('MAIL_DIR');
  const mailFrom = reader.text('MAIL_FROM');
  if (smtpUrl === undefined && mailDir === undefined)
    reader.problem('neither SMTP_URL nor MAIL_DIR is set: a mail server, or a folder to write mails into');
  if (smtpUrl !== undefined && !isServer(smtpUrl))
    reader.problem(
      'SMTP_URL must be an smtp or smtps URL, such as smtp://user:password@mail.example.com:587, special characters in the password percent-encoded',
    );
  if (smtpUrl !== undefined && !reader.isSet('MAIL_FROM'))
    reader.problem('MAIL_FROM is not set: SMTP_URL needs the address that mails come from');
  if (!SENDER.test(mailFrom))
    reader.problem(
      'MAIL_FROM must be an address, with or without a name, such as Reminders <reminders@example.com>',
    );
  return {
    mail: smtpUrl === undefined ? { mailDir: mailDir ?? '' } : { smtpUrl },
    mailFrom,
    smtpConnections: reader.wholeNumber('SMTP_CONNECTIONS'),
  };
}

function isServer(smtpUrl: string): boolean {
  const url = URL.parse(smtpUrl);
  return url !== null && /^smtps?:$/.test(url.protocol) && !cutsPassword(url);
}

export type EmailOptions = EmailSettings &
  MessageSettings & {
    /** Milliseconds after which a message counts as not sent. Default 28,000, within what a channel may take. */
    sendTimeoutMs?: number;
  };

const DNS_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MS = 10_000;
/** Longest silence of the server within a conversation. */
const SILENCE_MS = 30_000;
const MAX_RESPONSE_BYTES = 16 * 1024;

/** A server and a folder get the same mail. */
export function createEmailChannel(options: EmailOptions): Channel {
  const { mail, mailFrom, smtpConnections, sendTimeoutMs = 28_000 } = options;
  const deliver =
    'smtpUrl' in mail ? toServer(mail.smtpUrl, smtpConnections, sendTimeoutMs) : toFolder(mail.mailDir);
  const domain = domainOf(mailFrom);
  return {
    parallel: smtpConnections,
    async send(message, { email }) {
      const to = { name: '', address: email };
      return deliver.send(message.deliveryId, {
        envelope: { from: mailFrom, to },
        from: mailFrom,
        to,
        ...toEmailText(message, options),
        messageId: `<${message.deliveryId}@${domain}>`,
        date: message.sendTime,
        headers: { ...unsubscribeHeaders(message), 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    },
    textOf: (message) => toEmailText(message, options),
    close: deliver.close,
  };
}

type Deliver = {
  send(deliveryId: string, mail: SendMailOptions): Promise<SendResult>;
  close(): Promise<void>;
};

function toServer(smtpUrl: string, maxConnections: number, sendTimeoutMs: number): Deliver {
  const transport = createTransport({
    pool: true,
    url: smtpUrl,
    maxConnections,
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
  return {
    async send(_deliveryId, mail) {
      const signal = AbortSignal.timeout(sendTimeoutMs);
      try {
        await transport.sendMail({ ...mail, signal });
        return { result: 'sent' };
      } catch (error) {
        const isHandedOver = textOf.get(signal)?.readableEnded ?? false;
        // nodemailer's errors; every field is optional.
        return toSendResult(error as SmtpFailure, isHandedOver);
      }
    },
    async close() {
      transport.close();
    },
  };
}

/** Each mail becomes `ID.eml`, which mail programs open, readable by the owner only. */
function toFolder(folder: string): Deliver {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async send(deliveryId, mail) {
      try {
        const { message } = await transport.sendMail(mail);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        // The option `buffer` makes it one.
        await writeFile(join(folder, `${deliveryId}.eml`), message as Buffer, { mode: 0o600 });
        return { result: 'sent' };
      } catch (error) {
        const reason = `The mail could not be written as a file (${errorCode(error) || 'unknown'}).`;
        return { result: 'retry', reason };
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

/**
 * What nodemailer's errors say. `command` is the SMTP command that was answered or waited for. `originalCode`: of the error beneath, such
 * as CERT_HAS_EXPIRED, where `code` is only ESOCKET.
 */
type SmtpFailure = {
  code?: string | undefined;
  originalCode?: string | undefined;
  command?: string | undefined;
  responseCode?: number | undefined;
  response?: string | undefined;
};

/** RFC 3463: a bad mailbox, domain or address (5.1.x, of which 7 and 8 are about the sender's), and a mailbox that is disabled. */
const OF_RECIPIENT = /^5\.(1\.(?![78]$)\d+|2\.1)$/;
/** After a time-out once the server has the whole message: it may well arrive, and each retry would be a duplicate. */
const UNANSWERED_RETRY_MS = 30 * 60_000;

/**
 * Only 5.1.x and 5.2.1 (see above), answered to RCPT, are the recipient's fault. Every other 5xx is about us: the relay is denied, our address
 * is on a block list, the sender is refused. All else is temporary. `isHandedOver`: the server has the whole message.
 */
export function toSendResult(
  { code = '', originalCode = code, command = '', responseCode, response = '' }: SmtpFailure,
  isHandedOver = false,
): SendResult {
  if (code === 'EABORT' || code === 'ETIMEDOUT') {
    if (!isHandedOver) return { result: 'retry', reason: 'The mail server did not answer in time.' };
    const reason = 'The mail server got the message, and did not say in time whether it takes it.';
    return { result: 'retry', reason, retryAfterMs: UNANSWERED_RETRY_MS };
  }
  if (responseCode === undefined)
    return {
      result: 'retry',
      reason: `The mail server could not be reached (${originalCode || 'no answer'}).`,
    };
  // The server's own text can hold the address, so only its status codes are kept.
  const [enhanced = ''] = /(?<=^\d{3}[ -])[245]\.\d{1,3}\.\d{1,3}\b/.exec(response) ?? [];
  const status = enhanced === '' ? `${responseCode}` : `${responseCode} ${enhanced}`;
  if (responseCode < 500) return { result: 'retry', reason: `The mail server refused for now (${status}).` };
  if (command.startsWith('RCPT TO') && OF_RECIPIENT.test(enhanced))
    return { result: 'failed', reason: `The mail server refused the address (${status}).`, cause: 'refused' };
  return { result: 'retry', reason: `The mail server refused our message (${status}).`, refusesUs: true };
}

type EmailText = MessageText & { html: string };
const MAX_NAME = 100;
const MAX_TITLE = 120;
const MAX_TITLES = 5;

/**
 * What a reminder says: subject, plain text and HTML. Names and titles stand in the bodies only, never in a header; controls in them
 * become spaces, and long ones are cut.
 */
function toEmailText(message: ReminderMessage, { appUrl, showTitles }: MessageSettings): EmailText {
  const sentence = dueSentence(message.dueCount);
  const name = toLine(message.firstName, MAX_NAME);
  const greeting = name === '' ? 'Hello,' : `Hello ${name},`;
  const said = message.isTest ? `This is a test. ${sentence} for review.` : `${sentence} for review.`;
  const titles = showTitles
    ? message.titles.slice(0, MAX_TITLES).map((title) => toTitle(title, MAX_TITLE))
    : [];
  const more = message.dueCount - titles.length;
  const others = titles.length > 0 && more > 0 ? 'and more' : undefined;
  const footer = whyItComes(message);
  return {
    subject: `${message.isTest ? 'Test: ' : ''}${sentence} for review`,
    text: [
      [greeting],
      [said],
      [...titles.map((title) => `- ${title}`), ...(others ? [others] : [])],
      appUrl === undefined ? [] : [`Review now: ${appUrl}`],
      ['-- ', footer, `Stop reminders by e-mail: ${message.unsubscribeUrl}`],
    ]
      .filter((lines) => lines.length > 0)
      .map((lines) => `${lines.join('\n')}\n`)
      .join('\n'),
    html: [
      '<!doctype html>',
      '<html lang="en"><head><meta charset="utf-8"><title>Reminder</title></head><body>',
      `<p>${escapeHtml(greeting)}</p>`,
      `<p>${escapeHtml(said)}</p>`,
      ...(titles.length > 0
        ? ['<ul>', ...titles.map((title) => `<li dir="auto">${escapeHtml(title)}</li>`), '</ul>']
        : []),
      ...(others ? [`<p>${others}</p>`] : []),
      ...(appUrl === undefined
        ? []
        : [`<p><a href="${escapeHtml(appUrl)}" style="${BUTTON}">Review now</a></p>`]),
      `<p><small>${escapeHtml(footer)} <a href="${escapeHtml(message.unsubscribeUrl)}">Stop reminders by e-mail</a></small></p>`,
      '</body></html>',
      '',
    ].join('\n'),
  };
}

const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#2f5fd0;color:#ffffff;text-decoration:none';

/** Explains the mail: its reader may not have set the reminder, and may not see it in any app. */
function whyItComes({ schedule }: ReminderMessage): string {
  const who = 'you or the support team of your learning app';
  if (schedule === undefined) return `You get this e-mail because ${who} asked for a test.`;
  const { minuteOfDay, weekdays, timeZone } = schedule;
  return `You get this e-mail because ${who} set a reminder for ${toTimeAndDays(minuteOfDay, weekdays)} (${timeZone}).`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attribute values in double quotes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
