// Push services and a mail server that are slow, refuse, hang or redirect, beside good ones.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { smtpError } from '../../reminders/channels/smtp.ts';
import type { Certificates } from '../../support/certificates.ts';

const SLOW_MS = 2000;

/** Addresses of push services, each of its own host and port. */
export async function startPushEnds({ environment }: Certificates) {
  const [cert, key] = [environment.GRPC_TLS_CERT, environment.GRPC_TLS_KEY].map((path) => readFileSync(path));
  const stops: (() => void)[] = [];
  const start = async (answer: RequestListener): Promise<string> => {
    const server = createServer({ cert, key }, (request, response) => {
      request.resume().once('end', () => answer(request, response));
    });
    stops.push(() => {
      server.close();
      server.closeAllConnections();
    });
    return `https://127.0.0.1:${await listen(server)}/`;
  };
  const answering = (status: number, headers = {}) =>
    start((_request, response) => response.writeHead(status, headers).end());
  let followed = 0;
  const target = await start((_request, response) => {
    followed += 1;
    response.end();
  });
  const good = () => answering(201);
  return {
    good: await good(),
    /** As many good ones as bad ones. */
    others: { a: await good(), b: await good(), c: await good(), d: await good(), e: await good() },
    bad: {
      busy: await answering(429),
      gone: await answering(410),
      broken: await answering(500),
      hanging: await start(() => {}),
      redirecting: await answering(302, { location: target }),
    },
    /** How many requests have followed a redirect. */
    followed: () => followed,
    stop() {
      for (const stop of stops) stop();
    },
  };
}

export type MailMood = 'good' | 'slow' | 'refusing' | 'hanging';

/** A mail server that behaves as `setMood` says, and refuses recipients at busy.example and gone.example at any time. */
export async function startMoodyMailServer() {
  let mood: MailMood = 'good';
  const sockets = new Set<Socket>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    maxClients: 200,
    onMailFrom(_address, _session, callback) {
      if (mood === 'hanging') return;
      callback(mood === 'refusing' ? smtpError(451, 'Not now') : null);
    },
    onRcptTo({ address }, _session, callback) {
      if (address.endsWith('@busy.example')) callback(smtpError(450, 'Not now'));
      else if (address.endsWith('@gone.example')) callback(smtpError(550, '5.1.1 No such user'));
      else callback();
    },
    async onData(stream, _session, callback) {
      // A connection that is closed within a message does not count.
      if (!(await once(stream.resume(), 'end').catch(() => false))) return;
      if (mood === 'slow') await sleep(SLOW_MS);
      callback();
    },
  });
  server.on('error', () => {});
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const port = await listen(server.server);
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `smtp://127.0.0.1:${port}`,
    /** Conversations in progress end, so that none of the mood before lasts. */
    setMood(next: MailMood) {
      mood = next;
      closeConnections();
    },
    stop() {
      server.close();
      closeConnections();
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
