// The pure rules of push: subscriptions and keys.
import { expect, test } from 'vitest';
import { subscriptionProblem } from '../../../services/reminders/channels/push.ts';
import { makeVapidKeys, readVapidKeys } from '../../../services/reminders/channels/vapid-keys.ts';

test('a browser’s subscription is sound, with padding as well', () => {
  expect(fieldOf({})).toBeUndefined();
  expect(fieldOf({ p256dh: `${P256DH}=`, auth: `${AUTH}==` })).toBeUndefined();
});

test.each([
  ['http://push.example.com/a'],
  ['ftp://push.example.com/a'],
  ['javascript:alert(1)'],
  ['push.example.com'],
  [''],
  ['https://user:password@push.example.com/a'],
  ['https://user@push.example.com/a'],
  ['https://:password@push.example.com/a'],
  [' https://push.example.com/a'],
  ['https://push.example.com/a '],
  ['https://'],
  ['https://127.0.0.1/a'],
  ['https://1.1.1.1/a'],
  ['https://[2606:4700::1111]/a'],
  ['https://0x7f000001/a'],
  ['https://[::1]/a'],
  ['https://[::ffff:10.0.0.1]/a'],
  ['https://169.254.169.254/latest/meta-data'],
  [`https://push.example.com/${'x'.repeat(1976)}`],
  ['https://push.example.com/\0'],
  ['https://push.example.com/\u4e00'],
  ['https://push.example.com/a\nb'],
])('the endpoint %s is refused', (endpoint) => {
  expect(fieldOf({ endpoint })).toBe('endpoint');
});

test('an endpoint of 2,000 characters is taken', () => {
  expect(fieldOf({ endpoint: `https://push.example.com/${'x'.repeat(1975)}` })).toBeUndefined();
});

test('IP addresses are for tests on one machine, and plain http is for nobody', () => {
  expect(fieldOf({ endpoint: 'https://127.0.0.1:8000/a' }, true)).toBeUndefined();
  expect(fieldOf({ endpoint: 'http://127.0.0.1:8000/a' }, true)).toBe('endpoint');
});

const P256DH = 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';

test.each([
  ['too short', P256DH.slice(0, -2)],
  ['compressed', `Ag${P256DH.slice(2)}`],
  ['neither compressed nor not', `Bi${P256DH.slice(2)}`],
  ['not on the curve', `${P256DH.slice(0, -4)}AAAA`],
  ['not base64url', `${P256DH.slice(0, -1)}+`],
  ['empty', ''],
])('a public key that is %s is refused', (_, p256dh) => {
  expect(fieldOf({ p256dh })).toBe('p256dh');
});

const AUTH = 'BTBZMqHH6r4Tts7J_aSIgg';

test.each([
  ['BTBZ'],
  [''],
  [`${AUTH}AA`],
  ['BTBZMqHH6r4Tts7J/aSIgg'],
  [`!${AUTH}`],
  [`${AUTH}!`],
  [`${AUTH}===`],
])('the secret %j is refused', (auth) => {
  expect(fieldOf({ auth })).toBe('auth');
});

test('what is wrong with a subscription is told in words', () => {
  const problemOf = (change: Partial<typeof sound>, allowPrivate = false) =>
    subscriptionProblem({ ...sound, ...change }, allowPrivate)?.problem;
  expect(problemOf({ endpoint: 'ftp://push.example.com/a' })).toBe(
    'must be an https URL with a host name, of at most 2,000 characters without a user name.',
  );
  expect(problemOf({ endpoint: 'ftp://push.example.com/a' }, true)).toBe(
    'must be an https URL of at most 2,000 characters without a user name.',
  );
  expect(problemOf({ p256dh: '' })).toBe('must be an uncompressed point of P-256 in base64url.');
  expect(problemOf({ auth: '' })).toBe('must be 16 bytes in base64url.');
});

test('new VAPID keys are read again; others are refused without being told', () => {
  const text = makeVapidKeys();
  expect(readVapidKeys(text).publicKey).toBe(text.slice(0, 87));
  const [publicKey = '', secret = ''] = text.split(':');
  const [otherKey = ''] = makeVapidKeys().split(':');
  for (const bad of ['', publicKey, `${secret}:${publicKey}`, `${publicKey}:${'A'.repeat(43)}`])
    expect(() => readVapidKeys(bad)).toThrow(/^must be PUBLIC:PRIVATE, two keys of P-256/);
  expect(() => readVapidKeys(`${otherKey}:${secret}`)).toThrow(/^has a public key that is not/);
});

const sound = { endpoint: 'https://push.example.com/send/abc?d=1', p256dh: P256DH, auth: AUTH };

const fieldOf = (change: Partial<typeof sound>, allowPrivate = false) =>
  subscriptionProblem({ ...sound, ...change }, allowPrivate)?.field;
