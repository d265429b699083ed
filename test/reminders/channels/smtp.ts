// A real SMTP server on loopback that keeps what it accepts, and refuses where a test says so.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export type ReceivedMail = { mail: ParsedMail; raw: string; from: string; to: string[] };
export type TestSmtpServer = Awaited<ReturnType<typeof startSmtpServer>>;

/** An error that the server answers with `code`. */
export const smtpError = (code: number, text: string) =>
  Object.assign(new Error(text), { responseCode: code });

export async function startSmtpServer(options: SMTPServerOptions = {}) {
  const received: ReceivedMail[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onConnect(_session, callback) {
      connections += 1;
      callback();
    },
    async onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of stream) chunks.push(chunk);
      } catch {
        // A message whose connection is closed within it is not received.
        return;
      }
      const raw = Buffer.concat(chunks).toString();
      const { mailFrom, rcptTo } = envelope;
      const from = mailFrom ? mailFrom.address : '';
      received.push({ mail: await simpleParser(raw), raw, from, to: rcptTo.map(({ address }) => address) });
      callback();
    },
    ...options,
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    smtpUrl: `smtp://127.0.0.1:${port}`,
    port,
    received,
    connections: () => connections,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}
