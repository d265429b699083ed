// HTTP on a bare socket, for requests that no client library would send; every error is held against the contract.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Endpoint, expectWithinContract } from './spec.ts';

export type RawAnswer = { status: number; headers: Headers; body: unknown };

/**
 * Sends the parts on one connection, where a number is a pause in milliseconds, and returns the answers once the other
 * side has closed it.
 */
export async function exchange(port: number, ...parts: (string | number)[]): Promise<RawAnswer[]> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  const closed = new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => resolve()).on('error', reject);
  });
  for (const part of parts) {
    if (typeof part === 'number') await sleep(part);
    else socket.write(part, 'latin1');
  }
  await closed;
  const answers = parseAnswers(Buffer.concat(chunks).toString('latin1'));
  for (const answer of answers) if (answer.status >= 400) expectWithinContract(ANY_ENDPOINT, answer);
  return answers;
}

const ANY_ENDPOINT: Endpoint = {
  method: 'GET',
  path: '/raw',
  success: 200,
  body: () => true,
  scopes: [],
  errors: [401, 403, 429],
};

function parseAnswers(text: string): RawAnswer[] {
  if (text === '') return [];
  const bodyStart = text.indexOf('\r\n\r\n') + 4;
  const [statusLine = '', ...lines] = text.slice(0, bodyStart - 4).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1)]),
  );
  const bodyEnd = bodyStart + Number(headers.get('content-length'));
  const body: unknown = JSON.parse(Buffer.from(text.slice(bodyStart, bodyEnd), 'latin1').toString());
  return [{ status: Number(statusLine.split(' ')[1]), headers, body }, ...parseAnswers(text.slice(bodyEnd))];
}
