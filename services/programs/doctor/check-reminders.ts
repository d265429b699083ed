// Checks the settings of reminders: the mail server, the sender, the address of links, the keys for push.
import { createTransport } from 'nodemailer';
import { errorCode } from '../../platform/thrown.ts';
import type { RemindersConfig } from '../../reminders/config.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

const ANSWER_MS = 3000;

export async function checkReminders({ reminders, vapidKeysGiven, isStart }: Settings): Promise<Finding[]> {
  if (reminders === undefined)
    return [checkNamed('reminders').ok('off, or not configured here: there is nothing to check')];
  const { mail, mailFrom, publicUrl } = reminders;
  const push = checkPush(reminders, vapidKeysGiven, isStart);
  if ('mailDir' in mail)
    return [checkNamed('mail').ok(`no SMTP_URL: mails become .eml files in ${mail.mailDir}`), push];
  return [await checkServer(mail.smtpUrl), checkSender(mailFrom), checkLinks(publicUrl), push];
}

/** Connects and logs in, and sends nothing. */
async function checkServer(smtpUrl: string): Promise<Finding> {
  const { ok, bad } = checkNamed('mail server');
  const { protocol = '', host } = URL.parse(smtpUrl) ?? {};
  if (!/^smtps?:$/.test(protocol))
    return bad('SMTP_URL cannot be read', 'see what is said of the configuration');
  const limits = { connectionTimeout: ANSWER_MS, greetingTimeout: ANSWER_MS, socketTimeout: ANSWER_MS };
  const transport = createTransport({ url: smtpUrl, ...limits, dnsTimeout: ANSWER_MS });
  try {
    await transport.verify();
    return ok(`${host} accepts us`);
  } catch (error) {
    // The server's own words may repeat the user's name.
    const code = errorCode(error) || 'unknown fault';
    if (code === 'EAUTH')
      return bad(`${host} refuses the login`, 'correct the user and the password in SMTP_URL');
    return bad(
      `${host} does not answer as a mail server: ${code}`,
      'start it, open the way to it, or correct host, port and smtp or smtps in SMTP_URL',
    );
  } finally {
    transport.close();
  }
}

function checkSender(mailFrom: string): Finding {
  const { ok, warning, bad } = checkNamed('mail sender');
  const address = addressIn(mailFrom);
  if (!/^[^\s@<>]+@[^\s@<>]+$/.test(address))
    return bad('MAIL_FROM has no address', 'write it as Reminders <reminders@example.com>');
  if (isLocal(address)) return warning(`mails come from ${address}`, OWN_DOMAIN);
  return ok(`mails come from ${address}`);
}

const OWN_DOMAIN = 'set MAIL_FROM to an address of a domain of yours';
const addressIn = (mailFrom: string) => /<([^<>]*)>\s*$/.exec(mailFrom)?.[1] ?? mailFrom;
const isLocal = (address: string) => /@localhost$/i.test(address);

function checkLinks(publicUrl: string): Finding {
  const { ok, warning } = checkNamed('reminder links');
  if (URL.parse(publicUrl)?.protocol === 'https:') return ok(`begin with ${publicUrl}`);
  return warning(
    `begin with ${publicUrl}: mail programs offer one click to unsubscribe with https alone`,
    'set PUBLIC_URL to the https address of the proxy in front of REMINDERS_HTTP_PORT',
  );
}

function checkPush({ vapidKeys, mailFrom }: RemindersConfig, isGiven: boolean, isStart: boolean): Finding {
  const { ok, warning, bad } = checkNamed('push keys');
  // The sender's address is the contact that every message names.
  if (vapidKeys !== undefined && isLocal(addressIn(mailFrom)))
    return warning(`Apple refuses push messages whose contact is ${addressIn(mailFrom)}`, OWN_DOMAIN);
  if (vapidKeys !== undefined) return ok('VAPID_KEYS are a pair');
  if (isGiven) return bad('VAPID_KEYS cannot be read', 'see what is said of the configuration');
  return ok(isStart ? 'npm start will create a pair' : 'VAPID_KEYS is not set: push is off');
}
