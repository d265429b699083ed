// The environment of the reminders service: what it must have, and how each mistake is named.
import { expect, test } from 'vitest';
import { ConfigError, readEnvironment } from '../../services/platform/process/config.ts';
import { makeVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { readRemindersConfig } from '../../services/reminders/config.ts';

test('with a database and a folder for mails, all else has a default', () => {
  expect(read({})).toMatchObject({
    host: '127.0.0.1',
    port: 50_053,
    httpPort: 8090,
    schedulingTarget: '127.0.0.1:50051',
    accountsTarget: '127.0.0.1:50052',
    mail: { mailDir: '/mails' },
    mailFrom: 'reminders@localhost',
    smtpConnections: 10,
    remindersPerSecond: 150,
    publicUrl: 'http://127.0.0.1:8090',
    appUrl: undefined,
    vapidKeys: undefined,
    showTitles: true,
    pushAllowPrivate: false,
  });
});

test('links are in ASCII, as the headers of a mail need them', () => {
  const { publicUrl } = read({ PUBLIC_URL: 'https://lernen-für-dich.de/er innern/' }) ?? {};
  expect(publicUrl).toBe('https://xn--lernen-fr-dich-nsb.de/er%20innern');
});

test('the learning app may be at any URL, with query and fragment', () => {
  const { appUrl } = read({ APP_URL: 'https://lernen.example/?an sicht=heute#/üben' }) ?? {};
  expect(appUrl).toBe('https://lernen.example/?an%20sicht=heute#/%C3%BCben');
  expect(problemsOf({ APP_URL: 'ftp://lernen.example', PUBLIC_URL: 'https://r.example/#x' })).toEqual([
    'PUBLIC_URL must be an http or https URL without ? and #, such as https://learn.example.com',
    'APP_URL must be an http or https URL, such as https://learn.example.com',
  ]);
});

test('all of it can be set, and a mail server goes before a folder', () => {
  const keys = makeVapidKeys();
  const config = read({
    REMINDERS_PORT: '1',
    REMINDERS_HTTP_PORT: '0',
    SMTP_URL: 'smtps://ada:secret@mail.example.com',
    MAIL_FROM: 'Reminders <r@example.com>',
    SMTP_CONNECTIONS: '40',
    REMINDERS_PER_SECOND: '50',
    PUBLIC_URL: 'https://remind.example.com/x/',
    APP_URL: 'https://learn.example.com',
    VAPID_KEYS: keys,
    REMINDER_TITLES: 'off',
    PUSH_ALLOW_PRIVATE: 'on',
  });
  expect(config).toMatchObject({
    port: 1,
    httpPort: 0,
    mail: { smtpUrl: 'smtps://ada:secret@mail.example.com' },
    mailFrom: 'Reminders <r@example.com>',
    smtpConnections: 40,
    remindersPerSecond: 50,
    publicUrl: 'https://remind.example.com/x',
    appUrl: 'https://learn.example.com/',
    showTitles: false,
    pushAllowPrivate: true,
  });
  expect(config.vapidKeys?.publicKey).toBe(keys.split(':')[0]);
});

test('all mistakes are reported at once, without a secret', () => {
  const problems = problemsOf({
    DATABASE_URL: '',
    MAIL_DIR: '',
    REMINDERS_PORT: 'x',
    REMINDERS_HTTP_PORT: '0',
    APP_URL: 'learn.example.com',
    VAPID_KEYS: 'hush:hush',
    REMINDER_TITLES: 'maybe',
  });
  const names = problems.map((problem) => /[A-Z_]{5,}/.exec(problem)?.[0]);
  expect(names).toEqual([
    'PUBLIC_URL',
    'REMINDERS_PORT',
    'DATABASE_URL',
    'SMTP_URL',
    'VAPID_KEYS',
    'APP_URL',
    'REMINDER_TITLES',
  ]);
  expect(problems.join()).not.toContain('hush');
  expect(problemsOf({ SMTP_URL: 'mail.example.com:25' })).toEqual([
    NO_SERVER,
    'MAIL_FROM is not set: SMTP_URL needs the address that mails come from',
  ]);
});

test.each(['hush/hush', '12/hush', '/hush', 'hush#hush', '12#hush', '12?hush'])(
  'a password %j of the mail server must be percent-encoded',
  (password) => {
    const environmentOf = (text: string) => ({
      SMTP_URL: `smtps://ada:${text}@mail.example.com:465`,
      MAIL_FROM: 'r@example.com',
    });
    expect(problemsOf(environmentOf(password))).toEqual([NO_SERVER]);
    expect(problemsOf(environmentOf(encodeURIComponent(password)))).toEqual([]);
  },
);

test('a mail server may have options', () => {
  const SMTP_URL = 'smtp://mail.example.com:25/?tls.rejectUnauthorized=false';
  expect(problemsOf({ SMTP_URL, MAIL_FROM: 'r@example.com' })).toEqual([]);
});

test.each([
  'Reminders',
  'Reminders <reminders>',
  'reminders@',
  'a@example.com, b@example.com',
  'Reminders <a@example.com> x',
  'a b@example.com',
  'Reminders: Berlin <a@example.com>',
])('a sender %j is no address', (MAIL_FROM) => {
  expect(problemsOf({ MAIL_FROM })).toEqual([
    'MAIL_FROM must be an address, with or without a name, such as Reminders <reminders@example.com>',
  ]);
});

test.each(['r@localhost', 'Übung, täglich <r+1@mail.example.com>', '"A: B, C" <r@example.com>'])(
  'a sender %j is one',
  (MAIL_FROM) => {
    expect(problemsOf({ MAIL_FROM })).toEqual([]);
  },
);

const NO_SERVER =
  'SMTP_URL must be an smtp or smtps URL, such as smtp://user:password@mail.example.com:587, special characters in the password percent-encoded';
const BASE = { DATABASE_URL: 'postgres://localhost/srs', MAIL_DIR: '/mails' };

const read = (environment: Record<string, string>) =>
  readEnvironment({ ...BASE, ...environment }, readRemindersConfig);

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    read(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
