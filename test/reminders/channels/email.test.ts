// What arrives at a real SMTP server, or in the folder, and what a server's refusals mean.

import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { simpleParser } from 'mailparser';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import { createEmailChannel, type EmailOptions } from '../../../services/reminders/channels/email.ts';
import { makeCertificates } from '../../support/certificates.ts';
import { message } from './message.ts';
import { smtpError, startSmtpServer } from './smtp.ts';

afterEach(cleanUp);

describe('a mail', () => {
  test('says by text and HTML how many are due, with titles, the link to the app and the one to stop', async () => {
    const { smtp, channel } = await start();
    expect(await channel.send(message(), ADA)).toEqual({ result: 'sent' });
    const [{ mail, from, to } = expect.fail('nothing arrived')] = smtp.received;
    expect({ from, to }).toEqual({ from: 'reminders@study.example', to: ['ada@example.com'] });
    expect(mail.subject).toBe('7 materials are due for review');
    expect(mail.text).toBe(
      [
        'Hello Ada,',
        '',
        '7 materials are due for review.',
        '',
        '- Photosynthesis',
        '- Mitosis',
        'and more',
        '',
        'Review now: https://app.example.com/review?from=mail&x=1',
        '',
        '-- ',
        'You get this e-mail because you or the support team of your learning app set a reminder for 12:00 on Mon–Fri (Europe/Berlin).',
        'Stop reminders by e-mail: https://reminders.example.com/unsubscribe/token-of-ada',
        '',
      ].join('\n'),
    );
    expect(mail.html).toContain('<p>Hello Ada,</p>');
    expect(mail.html).toContain('<li dir="auto">Photosynthesis</li>');
    expect(mail.html).toMatch(
      /<a href="https:\/\/app\.example\.com\/review\?from=mail&amp;x=1" style="[^"]+">Review now<\/a>/,
    );
    expect(mail.html).toContain('set a reminder for 12:00 on Mon–Fri (Europe/Berlin). <a href=');
    expect(mail.html).not.toMatch(/<img|<script|<link|url\(/i);
    expect(mail.attachments).toEqual([]);
  });

  test.each<[weekdays: number[], said: string]>([
    [[1, 2, 3, 4, 5, 6, 7], '08:05 every day'],
    [[6], '08:05 on Sat'],
    [[6, 7], '08:05 on Sat, Sun'],
    [[1, 3, 4, 5, 7], '08:05 on Mon, Wed–Fri, Sun'],
  ])('of a reminder on the days %j says that it is set for %s', (weekdays, said) => {
    const schedule = { minuteOfDay: 8 * 60 + 5, weekdays, timeZone: 'Asia/Tokyo' };
    const { text } = channelTo({ mailDir: 'none' }).textOf(message({ schedule }));
    expect(text).toContain(`set a reminder for ${said} (Asia/Tokyo).`);
  });

  test('names the delivery in its Message-ID, the same when it is sent again, and its date', async () => {
    const { smtp, channel } = await start();
    await channel.send(message(), ADA);
    await channel.send(message(), ADA);
    expect(smtp.received.map(({ mail }) => mail.messageId)).toEqual([
      '<0198c0de-0000-7000-8000-000000000001@study.example>',
      '<0198c0de-0000-7000-8000-000000000001@study.example>',
    ]);
    expect(smtp.received[0]?.mail.date?.toISOString()).toBe('2030-03-31T10:00:00.000Z');
    // So that no absent person's program answers.
    expect(smtp.received[0]?.raw).toContain('Auto-Submitted: auto-generated\r\n');
  });

  test('can be unsubscribed from with one click as in RFC 8058, whatever the length of the link', async () => {
    const { smtp, channel } = await start();
    const unsubscribeUrl = `https://reminders.example.com/unsubscribe/${'x'.repeat(300)}`;
    await channel.send(message({ unsubscribeUrl }), ADA);
    const { raw } = smtp.received[0] ?? expect.fail('nothing arrived');
    expect(raw).toContain(`List-Unsubscribe: <${unsubscribeUrl}>\r\n`);
    expect(raw).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
  });

  test('holds no titles where they are off, and no link to an app that is not set', async () => {
    const { smtp, channel } = await start({}, { showTitles: false, appUrl: undefined });
    await channel.send(message({ dueCount: 1 }), ADA);
    const { raw, mail } = smtp.received[0] ?? expect.fail('nothing arrived');
    expect(mail.subject).toBe('1 material is due for review');
    expect(raw).not.toMatch(/Photosynthesis|Mitosis|Review now|and more/);
  });

  test('tells a count that ended at 1,000 as 1,000 or more, and that a test is one', async () => {
    const { smtp, channel } = await start();
    const test = { isTest: true, schedule: undefined };
    await channel.send(message({ dueCount: 1000, ...test }), ADA);
    await channel.send(message({ dueCount: 0, titles: [], firstName: '', ...test }), ADA);
    expect(smtp.received.map(({ mail }) => mail.subject)).toEqual([
      'Test: 1,000 or more materials are due for review',
      'Test: No materials are due for review',
    ]);
    expect(smtp.received[1]?.mail.text).toMatch(
      /^Hello,\n\nThis is a test\. No materials are due for review\./,
    );
  });

  test.each([
    ['line breaks', 'Ada\r\nBcc: eve@example.com\r\n\r\nBuy', 'Ada Bcc: eve@example.com Buy'],
    [
      'an encoded word',
      '=?utf-8?Q?Ada=0D=0ABcc:_eve@example.com?=',
      '=?utf-8?Q?Ada=0D=0ABcc:_eve@example.com?=',
    ],
    ['marks that turn text round', 'Ada\u202Egnp.exe\u2066x\u2069\u200F', 'Ada gnp.exe x'],
    ['other controls', 'A\u0000d\u0007a\u2028!\u0085?', 'A d a ! ?'],
    ['a lone surrogate', 'A\uD800da', 'A\uFFFDda'],
    ['markup', '<img src=x onerror="a()">\'&', '<img src=x onerror="a()">\'&'],
  ])('stays harmless with %s in name and title', async (_, text, line) => {
    const { smtp, channel } = await start();
    expect(await channel.send(message({ firstName: text, titles: [text] }), ADA)).toEqual({ result: 'sent' });
    const { mail, to, raw } = smtp.received[0] ?? expect.fail('nothing arrived');
    expect(to).toEqual(['ada@example.com']);
    expect(mail.headers.has('bcc')).toBe(false);
    const [head = ''] = raw.split('\r\n\r\n');
    expect(head).not.toMatch(/eve@|Ada/);
    const lines = mail.text?.split('\n');
    expect(lines?.[0]).toBe(`Hello ${line},`);
    expect(lines?.[4]).toBe(`- ${line}`);
    const escaped = line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    expect(mail.html).toContain(
      `<li dir="auto">${escaped.replaceAll('"', '&quot;').replaceAll("'", '&#39;')}</li>`,
    );
  });

  test('says that there are more only where there are', async () => {
    const { smtp, channel } = await start();
    await channel.send(message({ dueCount: 2, titles: ['Photosynthesis', 'Mitosis'] }), ADA);
    await channel.send(message({ dueCount: 3, titles: ['Photosynthesis', 'Mitosis'] }), ADA);
    expect(smtp.received.map(({ mail }) => mail.text?.includes('and more'))).toEqual([false, true]);
  });

  test('cuts a title after 120 characters as a reader sees them, and never within one', async () => {
    const { smtp, channel } = await start();
    const family = '👩‍👩‍👧‍👦';
    await channel.send(message({ titles: [family.repeat(121), `${'e\u0301'.repeat(120)}`] }), ADA);
    expect(smtp.received[0]?.mail.text).toContain(`- ${family.repeat(119)}…\n`);
    expect(smtp.received[0]?.mail.text).toContain(`- ${'e\u0301'.repeat(120)}\n`);
  });

  test.each(['', ' ', '\u200b', '\u2800', '\u3164 \u00ad', '\u202e'])(
    'names a title that shows nothing, as %j',
    async (title) => {
      const { smtp, channel } = await start();
      await channel.send(message({ titles: [title, 'Mitosis'] }), ADA);
      const { mail } = smtp.received[0] ?? expect.fail('nothing arrived');
      expect(mail.text).toContain('- (no title)\n- Mitosis\n');
      expect(mail.html).toContain('<li dir="auto">(no title)</li>');
    },
  );

  test('comes from a sender whose name holds any characters', async () => {
    const { smtp, channel } = await start({}, { mailFrom: '"Lernen für dich, täglich" <ada@study.example>' });
    await channel.send(message(), ADA);
    const [{ mail, from } = expect.fail('nothing arrived')] = smtp.received;
    expect(from).toBe('ada@study.example');
    expect(mail.from?.value).toEqual([{ name: 'Lernen für dich, täglich', address: 'ada@study.example' }]);
  });

  test('is sent to a long address, as accounts stores', async () => {
    const { smtp, channel } = await start();
    const label = (length: number) => 'd'.repeat(length);
    const email = `ada@${[label(60), label(60), label(60), label(47)].join('.')}`;
    expect(await channel.send(message(), to(email))).toEqual({ result: 'sent' });
    expect(smtp.received[0]?.to).toEqual([email]);
  });
});

describe('a server that', () => {
  const refuseRecipient = (code: number, text: string): SMTPServerOptions => ({
    onRcptTo: (_address, _session, callback) => callback(smtpError(code, text)),
  });

  test('refuses the recipient for ever makes the mail fail, without the address in the reason', async () => {
    const { channel } = await start(refuseRecipient(550, '5.1.1 <ada@example.com> is unknown'));
    expect(await channel.send(message(), ADA)).toEqual({
      result: 'failed',
      reason: 'The mail server refused the address (550 5.1.1).',
      cause: 'refused',
    });
  });

  test('refuses our login or our sender makes mails wait: no recipient is at fault', async () => {
    const login = await start({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, callback) => callback(smtpError(535, '5.7.8 bad password')),
    });
    const smtpUrl = `smtp://user:secret@127.0.0.1:${login.smtp.port}`;
    const refused = {
      result: 'retry',
      reason: 'The mail server refused our message (535 5.7.8).',
      refusesUs: true,
    };
    expect(await channelTo({ smtpUrl }).send(message(), ADA)).toEqual(refused);
    const sender = await start({
      onMailFrom: (_address, _session, callback) => callback(smtpError(550, '5.7.1 not you')),
    });
    expect(await sender.channel.send(message(), ADA)).toEqual({
      result: 'retry',
      reason: 'The mail server refused our message (550 5.7.1).',
      refusesUs: true,
    });
  });

  test('is not there makes the mail wait', async () => {
    const { smtp, channel } = await start();
    await smtp.stop();
    ends.splice(0, 1);
    expect(await channel.send(message(), ADA)).toEqual({
      result: 'retry',
      reason: 'The mail server could not be reached (ECONNREFUSED).',
    });
  });

  test.each([
    ['from the first byte on', 'smtps'],
    ['by STARTTLS', 'smtp'],
  ])(
    'has a certificate of nobody’s, %s, makes the mail wait, and the reason names it',
    async (_, protocol) => {
      const certificates = makeCertificates();
      ends.push(async () => certificates.remove());
      const { GRPC_TLS_KEY, GRPC_TLS_CERT } = certificates.environment;
      const [key, cert] = [await readFile(GRPC_TLS_KEY), await readFile(GRPC_TLS_CERT)];
      const { smtp } = await start({ secure: protocol === 'smtps', disabledCommands: [], key, cert });
      const channel = channelTo({ smtpUrl: `${protocol}://127.0.0.1:${smtp.port}` });
      expect(await channel.send(message(), ADA)).toEqual({
        result: 'retry',
        reason: 'The mail server could not be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE).',
      });
    },
  );

  test.each([
    [
      'hangs up',
      20_000,
      (socket: Socket) => socket.destroy(),
      'The mail server could not be reached (ECONNECTION).',
    ],
    ['says nothing', 300, () => {}, 'The mail server did not answer in time.'],
  ])(
    '%s makes the mail wait',
    async (_, sendTimeoutMs, onConnection: (socket: Socket) => unknown, reason) => {
      const server = createServer((socket) => {
        ends.push(async () => socket.destroy());
        onConnection(socket);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      ends.push(async () => server.close());
      const { port } = server.address() as AddressInfo;
      const channel = channelTo({ smtpUrl: `smtp://127.0.0.1:${port}` }, { sendTimeoutMs });
      expect(await channel.send(message(), ADA)).toEqual({ result: 'retry', reason });
    },
  );

  /** `taken` grows with each mail, `delayMs` after its end. */
  const takingEach = (delayMs: number, taken: string[]): SMTPServerOptions => ({
    async onData(stream, _session, callback) {
      for await (const _ of stream);
      await sleep(delayMs);
      taken.push('mail');
      callback();
    },
  });

  test('has a mail and does not say in time that it takes it gets it again after half an hour', async () => {
    const taken: string[] = [];
    const { channel } = await start(takingEach(3000, taken), { sendTimeoutMs: 1500 });
    expect(await channel.send(message(), ADA)).toEqual({
      result: 'retry',
      reason: 'The mail server got the message, and did not say in time whether it takes it.',
      retryAfterMs: 1_800_000,
    });
    await expect.poll(() => taken).toHaveLength(1);
  });

  test('is used over few connections, each for many mails', async () => {
    const { smtp, channel } = await start({}, { smtpConnections: 2 });
    const ids = Array.from({ length: 30 }, (_, index) => `0198c0de-0000-7000-8000-0000000001${index + 10}`);
    const results = await Promise.all(ids.map((deliveryId) => channel.send(message({ deliveryId }), ADA)));
    expect(results.every(({ result }) => result === 'sent')).toBe(true);
    expect(smtp.received.map(({ mail }) => mail.messageId).toSorted()).toEqual(
      ids.map((id) => `<${id}@study.example>`),
    );
    expect(smtp.connections()).toBeLessThanOrEqual(2);
  });
});

describe('without a server', () => {
  test('a mail becomes an .eml file that only its owner may read', async () => {
    const mailDir = join(await folder(), 'mail');
    const channel = channelTo({ mailDir });
    expect(await channel.send(message(), ADA)).toEqual({ result: 'sent' });
    expect(await channel.send(message(), ADA)).toEqual({ result: 'sent' });
    const name = '0198c0de-0000-7000-8000-000000000001.eml';
    expect(await readdir(mailDir)).toEqual([name]);
    expect((await stat(join(mailDir, name))).mode & 0o777).toBe(0o600);
    const raw = await readFile(join(mailDir, name));
    const mail = await simpleParser(raw);
    expect(mail.subject).toBe('7 materials are due for review');
    expect(mail.to).toMatchObject({ text: 'ada@example.com' });
    expect(raw.toString()).not.toMatch(/[^\r]\n/);
  });

  test('a folder that cannot be written makes the mail wait', async () => {
    const file = join(await folder(), 'file');
    await writeFile(file, '');
    const channel = channelTo({ mailDir: join(file, 'mail') });
    expect(await channel.send(message(), ADA)).toEqual({
      result: 'retry',
      reason: 'The mail could not be written as a file (ENOTDIR).',
    });
  });
});

const ends: (() => Promise<unknown>)[] = [];

async function cleanUp(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end();
}

const to = (email: string) => ({ userId: 'ada', email, subscription: null });
const ADA = to('ada@example.com');

function channelTo(mail: EmailOptions['mail'], options: Partial<EmailOptions> = {}) {
  const channel = createEmailChannel({
    mail,
    mailFrom: 'Reminders <reminders@study.example>',
    appUrl: 'https://app.example.com/review?from=mail&x=1',
    showTitles: true,
    smtpConnections: 10,
    ...options,
  });
  ends.push(() => channel.close());
  return channel;
}

async function start(server: SMTPServerOptions = {}, options: Partial<EmailOptions> = {}) {
  const smtp = await startSmtpServer(server);
  ends.push(smtp.stop);
  return { smtp, channel: channelTo({ smtpUrl: smtp.smtpUrl }, options) };
}

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'srs-mail-'));
  ends.push(() => rm(path, { recursive: true }));
  return path;
}
