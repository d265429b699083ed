// An attack of the corpus in test/faults/worst-neighbour: what a hostile client sends, and the bytes that it comes to.
import { randomBytes, randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKey } from '../../../services/accounts/keys/rules.ts';

/** A piece of a text: as it stands, or made from a rule so that the corpus stays readable. */
export type Piece =
  | string
  | { repeat: string; times: number }
  /** `#` is the number of the repetition, from 0; `#+` the one after it. */
  | { count: number; each: string }
  | { randomAscii: number }
  | { randomIdeographs: number }
  /** Another text in each request. */
  | { unique: true }
  | { material: 'small' }
  | { userId: true };

/** A value of a message or of GraphQL variables: JSON, in which these stand for what is made. */
export type Value =
  | { text: Piece[] }
  | { json: Piece[] }
  | { list: number; each: unknown }
  | { [name: string]: Value }
  | unknown;

export type Attack = {
  name: string;
  title: string;
  to: 'rest' | 'gateway' | 'ops' | 'scheduling' | 'accounts';
  as: 'nobody' | 'unknown key' | 'one unknown key' | 'hostile' | 'viewer' | 'operator' | 'service';
  request?: { method: string; path: Piece[]; headers?: Piece[]; body?: Piece[] };
  graphql?: { query: Piece[]; variables?: { [name: string]: Piece[] | { json: Piece[] } } };
  rpc?: { method: string; request: { [name: string]: Value } };
  /** Requests under way at once on each connection; default 1. */
  pipelined?: number;
  /** false: the answers are never read. */
  reads?: boolean;
  /** false: no answer is waited for. */
  answered?: boolean;
  reconnects?: boolean;
  hangsUpAfterMs?: number;
  bytesASecond?: number;
};

/** Whom the attack is made against and whose credentials it has. */
export type Facts = {
  ports: Record<Attack['to'], number>;
  key: string;
  userId: string;
  smallMaterialId: string;
  viewerToken: string;
  operatorToken: string;
};

const CORPUS = join(import.meta.dirname, '../worst-neighbour');

export function readCorpus(): Attack[] {
  return readdirSync(CORPUS)
    .toSorted()
    .flatMap((name): Attack[] => JSON.parse(readFileSync(join(CORPUS, name), 'utf8')));
}

const ASCII = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter(
  (letter) => letter !== '"' && letter !== '\\',
);

export function toText(pieces: readonly Piece[], facts: Facts): string {
  return pieces.map((piece) => pieceText(piece, facts)).join('');
}

function pieceText(piece: Piece, facts: Facts): string {
  if (typeof piece === 'string') return piece.replaceAll('@user', facts.userId);
  if ('repeat' in piece) return piece.repeat.repeat(piece.times);
  if ('count' in piece) return numbered(piece.count, piece.each).replaceAll('@user', facts.userId);
  if ('randomAscii' in piece) return letters(piece.randomAscii, () => ASCII[randomInt(ASCII.length)] ?? 'a');
  if ('randomIdeographs' in piece)
    return letters(piece.randomIdeographs, () => String.fromCharCode(0x4e00 + randomInt(20_000)));
  if ('unique' in piece) return randomBytes(12).toString('hex');
  return 'material' in piece ? facts.smallMaterialId : facts.userId;
}

const numbered = (count: number, each: string) =>
  Array.from({ length: count }, (_, index) =>
    each.replaceAll('#+', `${index + 1}`).replaceAll('#', `${index}`),
  ).join('');

const letters = (count: number, letter: () => string) => Array.from({ length: count }, letter).join('');

/** The message of an rpc. */
export function toMessage(value: Value, facts: Facts): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('userId' in value && value.userId === true) return facts.userId;
  if ('text' in value) return toText(value.text as Piece[], facts);
  if ('list' in value && 'each' in value) return Array.from({ length: Number(value.list) }, () => value.each);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toMessage(part, facts)]));
}

/** One whole HTTP/1.1 request. */
export function toRequest(attack: Attack, facts: Facts): Buffer {
  const { method, path, headers = [], body } = attack.request ?? graphqlRequest(attack, facts);
  const sent = body === undefined ? undefined : Buffer.from(toText(body, facts));
  const given = toText(headers, facts);
  const isFramed = /^(content-length|transfer-encoding):/im.test(given);
  const head = [
    `${method} ${toText(path, facts)} HTTP/1.1\r\n`,
    /^host:/im.test(given) ? '' : 'host: neighbour\r\n',
    /^authorization:/im.test(given) ? '' : credentials(attack.as, facts),
    given,
    sent === undefined || isFramed ? '' : `content-length: ${sent.length}\r\n`,
    '\r\n',
  ];
  return Buffer.concat([Buffer.from(head.join(''), 'latin1'), sent ?? Buffer.alloc(0)]);
}

function graphqlRequest({ graphql }: Attack, facts: Facts): NonNullable<Attack['request']> {
  if (graphql === undefined) throw new Error('an attack over HTTP has a request or a document');
  const variables = Object.fromEntries(
    Object.entries(graphql.variables ?? {}).map(([name, value]) => [
      name,
      Array.isArray(value) ? toText(value, facts) : JSON.parse(toText(value.json, facts)),
    ]),
  );
  const body = JSON.stringify({ query: toText(graphql.query, facts), variables });
  return {
    method: 'POST',
    path: ['/graphql'],
    headers: ['content-type: application/json\r\n'],
    body: [body],
  };
}

const oneUnknownKey = generateKey(randomBytes);

function credentials(as: Attack['as'], facts: Facts): string {
  const keys: Partial<Record<Attack['as'], string>> = {
    hostile: facts.key,
    viewer: facts.viewerToken,
    operator: facts.operatorToken,
    'one unknown key': oneUnknownKey,
    'unknown key': generateKey(randomBytes),
  };
  const key = keys[as];
  return key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
}
