// The settings of reminders: the mail server, the sender, the address of links, the keys for push.
import { bad, type Check, type Finding, ok, warning } from '../../platform/checks.ts';
import { areLinksLocal, type RemindersConfig } from '../../reminders/config.ts';
import { checkMailServer } from './check-mail-server.ts';
import type { Settings } from './settings.ts';

export function remindersChecks({ reminders, isPushGiven, isStart }: Settings): Check[] {
  if (reminders === undefined)
    return [{ name: 'reminders', run: () => ok('off, or not configured here: there is nothing to check') }];
  const { mail, mailFrom } = reminders;
  const push = { name: 'push keys', run: () => checkPush(reminders, isPushGiven, isStart) };
  if ('mailDir' in mail)
    return [{ name: 'mail', run: () => ok(`no SMTP_URL: mails become .eml files in ${mail.mailDir}`) }, push];
  const sender = addressIn(mailFrom);
  const { smtpUrl } = mail;
  return [
    { name: 'mail server', run: () => checkMailServer(smtpUrl, isAddress(sender) ? sender : undefined) },
    { name: 'mail sender', run: () => checkSender(sender) },
    { name: 'reminder links', run: () => checkLinks(reminders) },
    push,
  ];
}

function checkSender(address: string): Finding {
  if (!isAddress(address))
    return bad('MAIL_FROM has no address', 'write it as Reminders <reminders@example.com>');
  if (isLocal(address)) return warning(`mails come from ${address}`, OWN_DOMAIN);
  return ok(`mails come from ${address}`);
}

const OWN_DOMAIN = 'set MAIL_FROM to an address of a domain of yours';
const addressIn = (mailFrom: string) => /<([^<>]*)>\s*$/.exec(mailFrom)?.[1] ?? mailFrom;
const isAddress = (text: string) => /^[^\s@<>]+@[^\s@<>]+$/.test(text);
const isLocal = (address: string) => /@localhost$/i.test(address);

function checkLinks(reminders: RemindersConfig): Finding {
  const { publicUrl } = reminders;
  const areLocal = areLinksLocal(reminders);
  if (!areLocal && URL.parse(publicUrl)?.protocol === 'https:') return ok(`begin with ${publicUrl}`);
  const fault = areLocal
    ? 'learners cannot open them'
    : 'mail programs offer one click to unsubscribe with https alone';
  return warning(
    `begin with ${publicUrl}: ${fault}`,
    'set PUBLIC_URL to the https address of the proxy in front of REMINDERS_HTTP_PORT',
  );
}

function checkPush({ vapidKeys, mailFrom }: RemindersConfig, isGiven: boolean, isStart: boolean): Finding {
  // The sender's address is the contact that every message names.
  if (vapidKeys !== undefined && isLocal(addressIn(mailFrom)))
    return warning(`Apple refuses push messages whose contact is ${addressIn(mailFrom)}`, OWN_DOMAIN);
  if (vapidKeys !== undefined) return ok('VAPID_KEYS are a pair');
  if (isGiven) return bad('VAPID_KEYS cannot be read', 'see the findings about the configuration');
  return ok(isStart ? 'npm start will create a pair' : 'VAPID_KEYS is not set: push is off');
}
