// A mail server of its own process, which takes every message: smtp-sink.ts FILE [PORT [DELAY_MS [HOST]]]. Before it says so,
// it appends a line to FILE: Message-ID, recipient, and when, in milliseconds.
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';

const [, , file = '', port = '0', delayMs = '0', host = '127.0.0.1'] = process.argv;
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  maxClients: 200,
  async onData(stream, { envelope }, done) {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of stream) chunks.push(chunk);
    } catch {
      // The sender was killed within the message, which does not count.
      return;
    }
    const [, id = ''] = /^Message-ID: <([^@>]+)/im.exec(Buffer.concat(chunks).toString('latin1')) ?? [];
    await sleep(Number(delayMs));
    appendFileSync(file, `${id} ${envelope.rcptTo[0]?.address} ${Date.now()}\n`);
    done();
  },
});
server.on('error', () => {});
server.listen(Number(port), host, () => {
  const address = server.server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined });
});
process.on('disconnect', () => process.exit());
