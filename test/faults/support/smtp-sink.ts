// A mail server of its own process: takes every message and tells, when asked, which Message-IDs it took, and when the last came.
import { SMTPServer } from 'smtp-server';

const messageIds = new Map<string, number>();
let lastMs = 0;
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  maxClients: 200,
  onData(stream, _session, done) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const [, id = ''] = /^Message-ID: <([^@>]+)/im.exec(Buffer.concat(chunks).toString('latin1')) ?? [];
      messageIds.set(id, (messageIds.get(id) ?? 0) + 1);
      lastMs = Date.now();
      done();
    });
  },
});
server.listen(0, '127.0.0.1', () => {
  const address = server.server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined });
});
process.on('message', () => {
  const doubles = [...messageIds.values()].filter((count) => count > 1).length;
  process.send?.({ messages: messageIds.size, doubles, lastMs });
});
process.on('disconnect', () => process.exit());
