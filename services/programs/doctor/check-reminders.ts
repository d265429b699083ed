// Checks the settings of reminders: the mail server, the sender, the address of links, the keys for push.
import type { RemindersConfig } from '../../reminders/config.ts';
import { checkMailServer } from './check-mail-server.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

export async function checkReminders({ reminders, vapidKeysGiven, isStart }: Settings): Promise<Finding[]> {
  if (reminders === undefined)
    return [checkNamed('reminders').ok('off, or not configured here: there is nothing to check')];
  const { mail, mailFrom, publicUrl } = reminders;
  const push = checkPush(reminders, vapidKeysGiven, isStart);
  if ('mailDir' in mail)
    return [checkNamed('mail').ok(`no SMTP_URL: mails become .eml files in ${mail.mailDir}`), push];
  const sender = addressIn(mailFrom);
  const server = await checkMailServer(mail.smtpUrl, isAddress(sender) ? sender : undefined);
  return [server, checkSender(sender), checkLinks(publicUrl), push];
}

function checkSender(address: string): Finding {
  const { ok, warning, bad } = checkNamed('mail sender');
  if (!isAddress(address))
    return bad('MAIL_FROM has no address', 'write it as Reminders <reminders@example.com>');
  if (isLocal(address)) return warning(`mails come from ${address}`, OWN_DOMAIN);
  return ok(`mails come from ${address}`);
}

const OWN_DOMAIN = 'set MAIL_FROM to an address of a domain of yours';
const addressIn = (mailFrom: string) => /<([^<>]*)>\s*$/.exec(mailFrom)?.[1] ?? mailFrom;
const isAddress = (text: string) => /^[^\s@<>]+@[^\s@<>]+$/.test(text);
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
