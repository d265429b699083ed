// Checks whether the mail server would accept our messages, without sending one.
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { bad, type Finding, ok, warning } from '../../platform/checks.ts';
import { errorCode } from '../../platform/thrown.ts';
import { toSendResult } from '../../reminders/channels/email.ts';

const ANSWER_MS = 3000;
const LIMITS = {
  connectionTimeout: ANSWER_MS,
  greetingTimeout: ANSWER_MS,
  socketTimeout: ANSWER_MS,
  dnsTimeout: ANSWER_MS,
};
/** An address of a reserved domain (RFC 2606), so that the server must agree to relay. */
const RECIPIENT = 'reminders@example.com';
/** Under this name nodemailer runs commands of ours. */
const ENVELOPE = 'ENVELOPE';

/** @param sender the address that mails come from; undefined where there is none to try. */
export async function checkMailServer(smtpUrl: string, sender: string | undefined): Promise<Finding> {
  const { protocol = '', host } = URL.parse(smtpUrl) ?? {};
  if (!/^smtps?:$/.test(protocol))
    return bad('SMTP_URL cannot be read', 'see the findings about the configuration');
  try {
    const refusal = await converse(smtpUrl, sender);
    const result = refusal && toSendResult(refusal);
    if (result?.result !== 'retry') return ok(`${host} accepts us`);
    const found = `${host} accepts us, but no mail from ${sender}: ${result.reason}`;
    if (result.refusesUs !== true) return warning(found, 'try again in some minutes');
    return bad(
      found,
      'let this machine send through it, add a user and password to SMTP_URL, or correct MAIL_FROM',
    );
  } catch (error) {
    // The server's own words may repeat the user's name.
    const code = errorCode(error) || 'unknown fault';
    if (code === 'EAUTH')
      return bad(`${host} refuses the login`, 'correct the user and the password in SMTP_URL');
    // The code of the error beneath says more, where nodemailer keeps it.
    const fault = originalCodeOf(error) ?? code;
    if (/CERT|SIGNATURE/.test(fault))
      return bad(
        `${host} has a certificate that is not accepted: ${fault}`,
        'correct the host in SMTP_URL, renew the certificate, name its authority in NODE_EXTRA_CA_CERTS, or, for a relay on this machine, append /?ignoreTLS=true',
      );
    return bad(
      `${host} does not answer as a mail server: ${fault}`,
      'start it, open the way to it, or correct host, port and smtp or smtps in SMTP_URL',
    );
  }
}

function originalCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'originalCode' in error ? String(error.originalCode) : undefined;
}

type Refusal = { command: string; response: string; responseCode: number };

/**
 * Connects, logs in, names a sender and a recipient, and resets the transaction.
 * @returns the first refusal of those two. @throws nodemailer's error if it does not get that far.
 */
async function converse(smtpUrl: string, sender: string | undefined): Promise<Refusal | undefined> {
  let refusal: Refusal | undefined;
  const { auth, ...place } = parseConnectionUrl(smtpUrl);
  const connection = new SMTPConnection({
    ...place,
    ...LIMITS,
    customAuth: {
      async [ENVELOPE]({ sendCommand }) {
        for (const command of [`MAIL FROM:<${sender}>`, `RCPT TO:<${RECIPIENT}>`, 'RSET']) {
          const { response } = await sendCommand(command);
          if (!response.startsWith('2'))
            refusal ??= { command, response, responseCode: Number.parseInt(response, 10) };
        }
      },
    },
  });
  const conversation = new Promise<void>((resolve, reject) => {
    connection.on('error', reject);
    connection.on('end', () => reject(new Error('the mail server hung up')));
    const then = (next: () => void) => (error?: Error | null) => (error ? reject(error) : next());
    const envelope = () =>
      sender === undefined ? resolve() : connection.login({ method: ENVELOPE }, then(resolve));
    connection.connect(
      then(() => {
        if (auth !== undefined && connection.allowsAuth) connection.login(auth, then(envelope));
        else envelope();
      }),
    );
  });
  try {
    await conversation;
    connection.quit();
    return refusal;
  } catch (error) {
    connection.close();
    throw error;
  }
}
