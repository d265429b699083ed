// The pure rules of push: encryption by the standard's own example, addresses, subscriptions, keys.
import { expect, test } from 'vitest';
import { encryptPush } from '../../../services/reminders/channels/push/encryption.ts';
import {
  createPushNetwork,
  isPublicAddress,
} from '../../../services/reminders/channels/push/public-address.ts';
import {
  readReceiverKeys,
  subscriptionProblem,
} from '../../../services/reminders/channels/push/subscription.ts';
import { makeVapidKeys, readVapidKeys } from '../../../services/reminders/channels/push/vapid.ts';

const bytes = (text: string) => Buffer.from(text, 'base64url');
const P256DH = 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';
const AUTH = 'BTBZMqHH6r4Tts7J_aSIgg';

test('the example of RFC 8291, appendix A, comes out byte for byte', () => {
  const body = encryptPush(
    Buffer.from('When I grow up, I want to be a watermelon'),
    { p256dh: bytes(P256DH), auth: bytes(AUTH) },
    {
      privateKey: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'),
      salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'),
    },
  );
  expect(body.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  );
});

test('the same message is never encrypted the same way twice, and 3,993 bytes are the most', () => {
  const receiver = { p256dh: bytes(P256DH), auth: bytes(AUTH) };
  const once = encryptPush(Buffer.from('x'), receiver);
  const again = encryptPush(Buffer.from('x'), receiver);
  expect(once.subarray(0, 16).equals(again.subarray(0, 16))).toBe(false);
  expect(once.subarray(21, 86).equals(again.subarray(21, 86))).toBe(false);
  expect(encryptPush(Buffer.alloc(3993), receiver).length).toBe(4096);
  expect(() => encryptPush(Buffer.alloc(3994), receiver)).toThrow(RangeError);
});

test.each([
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.168.1.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '64:ff9b::7f00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2001:1ff:ffff::1',
  '2002:7f00:1::',
  '3fff::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  '2606:4700::1111%eth0',
  'ff02::1',
  'localhost',
  '',
])('%s is not a public address', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  '1.1.1.1',
  '9.255.255.255',
  '100.63.255.255',
  '100.128.0.0',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00:1450:4001::1',
])('%s is a public address', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

const sound = { endpoint: 'https://push.example.com/send/abc?d=1', p256dh: P256DH, auth: AUTH };
const fieldOf = (change: Partial<typeof sound>, allowPrivate = false) =>
  subscriptionProblem({ ...sound, ...change }, createPushNetwork({ allowPrivate }))?.field;

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

test('plain http and private addresses are for tests on one machine', () => {
  expect(fieldOf({ endpoint: 'http://127.0.0.1:8000/a' }, true)).toBeUndefined();
});

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
    subscriptionProblem({ ...sound, ...change }, createPushNetwork({ allowPrivate }))?.problem;
  expect(problemOf({ endpoint: 'ftp://push.example.com/a' })).toBe(
    'must be a public https URL of at most 2,000 characters without a user name.',
  );
  expect(problemOf({ endpoint: 'ftp://push.example.com/a' }, true)).toBe(
    'must be an http or https URL of at most 2,000 characters without a user name.',
  );
  expect(problemOf({ p256dh: '' })).toBe('must be an uncompressed point of P-256 in base64url.');
  expect(problemOf({ auth: '' })).toBe('must be 16 bytes in base64url.');
});

test('public addresses are taken in place of names, and private ones on one machine', () => {
  expect(fieldOf({ endpoint: 'https://1.1.1.1/a' })).toBeUndefined();
  expect(fieldOf({ endpoint: 'https://[2606:4700::1111]/a' })).toBeUndefined();
  expect(fieldOf({ endpoint: 'https://127.0.0.1/a' }, true)).toBeUndefined();
});

test('the keys of a subscription are read as bytes, or not at all', () => {
  expect(readReceiverKeys(sound)).toEqual({ p256dh: bytes(P256DH), auth: bytes(AUTH) });
  expect(readReceiverKeys({ ...sound, p256dh: '' })).toBeUndefined();
  expect(readReceiverKeys({ ...sound, auth: '' })).toBeUndefined();
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
