// The reminders service's environment.
import {
  isLoopback,
  readDatabaseServiceConfig,
  readPeers,
  readTrustedProxies,
} from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';
import { readChannelSettings } from './channels/registry.ts';

export type RemindersConfig = ReturnType<typeof readRemindersConfig>;

export function readRemindersConfig(reader: EnvironmentReader) {
  const httpPort = reader.wholeNumber('REMINDERS_HTTP_PORT');
  const publicUrl = readUrl(reader, 'PUBLIC_URL') ?? `http://127.0.0.1:${httpPort}`;
  if (httpPort === 0 && !reader.isSet('PUBLIC_URL'))
    reader.problem('PUBLIC_URL is not set: links cannot begin with a port that the system chooses');
  return {
    ...readDatabaseServiceConfig(reader, 'REMINDERS'),
    ...readPeers(reader),
    httpPort,
    trustedProxies: readTrustedProxies(reader),
    ...readChannelSettings(reader),
    /** Reminders that a process claims in a second, at most. */
    remindersPerSecond: reader.wholeNumber('REMINDERS_PER_SECOND'),
    /** What links begin with, without a slash at the end. */
    publicUrl: publicUrl.replace(/\/+$/, ''),
    appUrl: readUrl(reader, 'APP_URL'),
    showTitles: reader.isOn('REMINDER_TITLES'),
  };
}

/** Whether mails go to people, while the links in them lead to this machine alone. */
export function areLinksLocal({ mail, publicUrl }: Pick<RemindersConfig, 'mail' | 'publicUrl'>): boolean {
  // A URL has an IPv6 address in brackets.
  const host = URL.parse(publicUrl)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return 'smtpUrl' in mail && isLoopback(host);
}

/** An http or https URL in ASCII. PUBLIC_URL has no query and fragment, since paths are appended to it. */
function readUrl(reader: EnvironmentReader, name: 'PUBLIC_URL' | 'APP_URL'): string | undefined {
  const text = reader.text(name);
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isBase = name === 'PUBLIC_URL';
  if (!/^https?:$/.test(url?.protocol ?? '') || (isBase && /[?#]/.test(text))) {
    const form = isBase ? 'URL without ? and #' : 'URL';
    reader.problem(`${name} must be an http or https ${form}, such as https://learn.example.com`);
  }
  return url?.href;
}
