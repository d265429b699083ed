// Bytes that are nearly HTTP: whole requests with random damage, sent as they are, in pieces, and cut off.

import { connect } from 'node:net';
import fc from 'fast-check';

type BrokenRequest = { parts: readonly string[]; hangUp: boolean };

/** Latin-1 texts; `key` is valid and `materialId` exists, so that damage elsewhere shows. */
export function generateBroken(
  key: string,
  materialId: string,
  count: number,
  seed: number,
): BrokenRequest[] {
  const head = (line: string, extra = '') =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n${extra}`;
  const post = (path: string, body: string) =>
    `${head(`POST /v1${path}`, `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`)}\r\n${body}`;
  const whole = fc.constantFrom(
    `${head('GET /v1/me')}\r\n`,
    `${head('GET /v1/materials?limit=5&q=x')}\r\n`,
    `${head('GET /v1/reviews/due')}\r\n`,
    post('/materials', '{"title":"T","content":"c"}'),
    post(`/reviews/${materialId}`, '{"quality":4}'),
    post(`/materials/${materialId}/snooze`, '{"preset":"1h"}'),
    `${head('POST /v1/materials', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n')}\r\n9\r\n{"title":\r\n4\r\n"T"}\r\n0\r\n\r\n`,
  );
  const fragment = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 8 }),
    fc.constantFrom(
      '\r\n',
      '\r\n\r\n',
      ' ',
      '\0',
      '%00',
      '%',
      '\t',
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Expect: 100-continue\r\n',
      'HTTP/9.9',
      '\xff\xfe',
      'a'.repeat(20_000),
      'X: y\r\n'.repeat(200),
    ),
  );
  const damage = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat({ max: 12 }),
    insert: fragment,
  });
  const broken = fc.record({
    text: fc.tuple(whole, fc.array(damage, { minLength: 1, maxLength: 3 })).map(([text, damages]) =>
      damages.reduce((result, { at, remove, insert }) => {
        const position = Math.floor(at * result.length);
        return result.slice(0, position) + insert + result.slice(position + remove);
      }, text),
    ),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2 }),
    hangUp: fc.boolean(),
  });
  return fc.sample(broken, { numRuns: count, seed }).map(({ text, cuts, hangUp }) => ({
    parts: split(text, cuts),
    hangUp,
  }));
}

function split(text: string, cuts: readonly number[]): string[] {
  const positions = [0, ...cuts.map((cut) => Math.floor(cut * text.length)).toSorted((a, b) => a - b)];
  return positions.map((from, index) => text.slice(from, positions[index + 1] ?? text.length));
}

/** What came back until the server, or after `hangUp` the client, had ended the connection. */
export function sendBroken(port: number, { parts, hangUp }: BrokenRequest): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text;
    });
    socket.on('error', () => {}).on('close', () => resolve(answer));
    socket.setNoDelay().on('connect', () => {
      for (const part of parts) socket.write(part, 'latin1');
      if (hangUp) socket.end();
      // A request that seems unfinished is waited for; nobody waits for ours.
      else setTimeout(() => socket.end(), 150);
    });
  });
}
