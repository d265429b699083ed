// The reminders service's environment.
import {
  type DatabaseServiceConfig,
  type Peers,
  readDatabaseServiceConfig,
  readPeers,
  readTrustedProxies,
} from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';
import { toError } from '../platform/thrown.ts';
import { readVapidKeys, type VapidKeys } from './channels/vapid-keys.ts';

export type RemindersConfig = DatabaseServiceConfig &
  Peers & {
    httpPort: number;
    /** Whose X-Forwarded-For is believed; default: nobody's. */
    trustedProxies?: readonly string[] | undefined;
    /** Where mails go: a server, or a folder for .eml files. */
    mail: { smtpUrl: string } | { mailDir: string };
    mailFrom: string;
    /** Connections to the mail server, each with one message at a time. */
    smtpConnections: number;
    /** Reminders that a process claims in a second, at most. */
    remindersPerSecond: number;
    /** What links begin with, without a slash at the end. */
    publicUrl: string;
    /** The learning app, which messages link to. */
    appUrl: string | undefined;
    /** undefined: push is off. */
    vapidKeys: VapidKeys | undefined;
    showTitles: boolean;
    pushAllowPrivate: boolean;
  };

const ADDRESS = "[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+";
/** A colon outside quotes would begin a group of addresses. */
const SENDER = new RegExp(`^(?:${ADDRESS}|(?:"[^"<>]*"|[^"<>@:]*)\\s*<${ADDRESS}>)$`);

export function readRemindersConfig(reader: EnvironmentReader): RemindersConfig {
  const httpPort = reader.wholeNumber('REMINDERS_HTTP_PORT');
  const publicUrl = readUrl(reader, 'PUBLIC_URL') ?? `http://127.0.0.1:${httpPort}`;
  if (httpPort === 0 && !reader.isSet('PUBLIC_URL'))
    reader.problem('PUBLIC_URL is not set: links cannot begin with a port that the system chooses');
  return {
    ...readDatabaseServiceConfig(reader, 'REMINDERS'),
    ...readPeers(reader),
    httpPort,
    trustedProxies: readTrustedProxies(reader),
    ...readMail(reader),
    smtpConnections: reader.wholeNumber('SMTP_CONNECTIONS'),
    remindersPerSecond: reader.wholeNumber('REMINDERS_PER_SECOND'),
    publicUrl: (URL.parse(publicUrl)?.href ?? publicUrl).replace(/\/+$/, ''),
    appUrl: readUrl(reader, 'APP_URL'),
    vapidKeys: readPushKeys(reader),
    showTitles: reader.isOn('REMINDER_TITLES'),
    pushAllowPrivate: reader.isOn('PUSH_ALLOW_PRIVATE'),
  };
}

function readMail(reader: EnvironmentReader): Pick<RemindersConfig, 'mail' | 'mailFrom'> {
  const smtpUrl = reader.text('SMTP_URL');
  const mailDir = reader.text('MAIL_DIR');
  const mailFrom = reader.text('MAIL_FROM');
  if (smtpUrl === undefined && mailDir === undefined)
    reader.problem('neither SMTP_URL nor MAIL_DIR is set: a mail server, or a folder to write mails into');
  if (smtpUrl !== undefined && !/^smtps?:$/.test(protocolOf(smtpUrl)))
    reader.problem(
      'SMTP_URL must be an smtp or smtps URL, such as smtp://user:password@mail.example.com:587',
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
  };
}

function readPushKeys(reader: EnvironmentReader): VapidKeys | undefined {
  const text = reader.text('VAPID_KEYS');
  try {
    return text === undefined ? undefined : readVapidKeys(text);
  } catch (error) {
    reader.problem(`VAPID_KEYS ${toError(error).message}`);
    return undefined;
  }
}

/** An http or https URL without query and fragment, since paths are appended to it. */
function readUrl(reader: EnvironmentReader, name: 'PUBLIC_URL' | 'APP_URL'): string | undefined {
  const text = reader.text(name);
  if (text === undefined) return undefined;
  if (!/^https?:$/.test(protocolOf(text)) || /[?#]/.test(text))
    reader.problem(`${name} must be an http or https URL without ? and #, such as https://learn.example.com`);
  return text;
}

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : '';
}
