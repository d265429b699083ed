// Looks a name up twice; in between, the machine's name server becomes another one. Prints both answers as JSON.
import { writeFileSync } from 'node:fs';
import { createPushNetwork } from '../../../services/reminders/channels/push/public-address.ts';
import { startDnsServer } from '../../support/dns-server.ts';

const { resolve } = createPushNetwork({ allowPrivate: false });
const answers: unknown[] = [];
for (const address of ['192.0.2.1', '192.0.2.2']) {
  const server = await startDnsServer([address]);
  writeFileSync('/etc/resolv.conf', `nameserver 127.0.0.1:${server.port}\n`);
  answers.push(await resolve('push.test'));
  server.stop();
}
process.stdout.write(JSON.stringify(answers));
