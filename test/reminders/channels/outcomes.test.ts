// What the answers of mail servers and push services mean: sent, to be tried again, or refused for good.
import { describe, expect, test } from 'vitest';
import { toSendResult as ofMail } from '../../../services/reminders/channels/email.ts';
import { toSendResult as ofPush } from '../../../services/reminders/channels/push.ts';

describe('a mail server that answers', () => {
  test('too late is asked again, and after half an hour once it has the message', () => {
    for (const code of ['EABORT', 'ETIMEDOUT']) {
      expect(ofMail({ code })).toEqual(LATE);
      expect(ofMail({ code }, true)).toEqual(UNTOLD);
    }
  });

  test('not at all is asked again, and the reason tells the code if there is one', () => {
    const away = retry('The mail server could not be reached (ESOCKET).');
    expect(ofMail({ code: 'ESOCKET' })).toEqual(away);
    expect(ofMail({ code: 'ESOCKET' }, true)).toEqual(away);
    expect(ofMail({})).toEqual(retry('The mail server could not be reached (no answer).'));
  });

  test.each([
    [499, 'RCPT TO', retry('The mail server refused for now (499).')],
    [500, 'RCPT TO', refusesUs('500')],
    [550, 'DATA', refusesUs('550')],
    [550, 'MAIL FROM', refusesUs('550')],
    [550, undefined, refusesUs('550')],
  ])('%i to %s without more is asked again, and 5xx is about us', (responseCode, command, result) => {
    expect(ofMail({ code: 'EENVELOPE', command, responseCode }, true)).toEqual(result);
  });

  test.each(['5.1.0', '5.1.1', '5.1.2', '5.1.10', '5.2.1'])(
    '550 %s to the recipient refuses them for good',
    (enhanced) => {
      const response = `550 ${enhanced} <ada@example.com>`;
      expect(ofMail({ command: 'RCPT TO', responseCode: 550, response })).toEqual(
        failed(`The mail server refused the address (550 ${enhanced}).`),
      );
      expect(ofMail({ command: 'DATA', responseCode: 550, response })).toEqual(refusesUs(`550 ${enhanced}`));
    },
  );

  test.each([
    '5.0.0',
    '5.1.7',
    '5.1.8',
    '5.2.0',
    '5.2.2',
    '5.2.10',
    '5.3.0',
    '5.4.1',
    '5.7.1',
    '5.7.26',
    '5.7.606',
    '2.1.1',
  ])('550 %s to the recipient refuses us: relay, block list, sender, or a full mailbox', (enhanced) => {
    const response = `550 ${enhanced} no`;
    expect(ofMail({ command: 'RCPT TO', responseCode: 550, response })).toEqual(refusesUs(`550 ${enhanced}`));
  });

  test.each([
    ['550-5.7.1 unknown', '550 5.7.1'],
    ['550 3.1.1 unknown', '550'],
    ['550 5.1.1234', '550'],
    ['550 5.1', '550'],
    ['550 unknown 5.1.1', '550'],
    ['x550 5.1.1', '550'],
    ['', '550'],
    [undefined, '550'],
  ])('%j is shown as no more than its codes', (response, shown) => {
    expect(ofMail({ command: 'RCPT TO', responseCode: 550, response })).toEqual(refusesUs(shown));
  });

  const LATE = retry('The mail server did not answer in time.');
  const UNTOLD = {
    result: 'retry',
    reason: 'The mail server got the message, and did not say in time whether it takes it.',
    retryAfterMs: 1_800_000,
  };
});

describe('a push service that answers', () => {
  const SENT = { result: 'sent' };
  const gone = (status: number) =>
    failed(`The push service no longer knows this browser (${status}).`, 'gone');
  const busy = (status: number) => retry(`The push service refused for now (${status}).`);
  const refusesUsByPush = (status: number) => ({
    ...retry(`The push service refused this sender (${status}).`),
    refusesUs: true,
  });
  const refused = (status: number) => failed(`The push service refused the message (${status}).`);

  test.each([
    [199, refused(199)],
    [200, SENT],
    [299, SENT],
    [300, refused(300)],
    [400, refusesUsByPush(400)],
    [401, refusesUsByPush(401)],
    [402, refused(402)],
    [403, refusesUsByPush(403)],
    [404, gone(404)],
    [405, refused(405)],
    [409, refused(409)],
    [410, gone(410)],
    [411, refused(411)],
    [428, refused(428)],
    [429, busy(429)],
    [430, refused(430)],
    [499, refused(499)],
    [500, busy(500)],
    [599, busy(599)],
  ])('%i has taken the message, refused it, or is asked again', (status, result) => {
    expect(ofPush(status, { now: NOW, isOurs: true })).toEqual(result);
  });

  test.each([400, 401, 403])(
    '%i to a browser that subscribed with other keys ends its subscription',
    (status) => {
      expect(ofPush(status, { now: NOW, isOurs: false })).toEqual(
        failed(`The push service refused our keys for this browser (${status}).`, 'gone'),
      );
    },
  );

  test('anything else to a browser that subscribed with other keys means what it means to one with ours', () => {
    const answer = (status: number) => ofPush(status, { now: NOW, isOurs: false });
    expect([201, 402, 410, 429].map(answer)).toEqual([SENT, refused(402), gone(410), busy(429)]);
  });

  test.each([
    ['0', 0],
    ['7', 7000],
    ['120', 120_000],
    ['Sun, 31 Mar 2030 10:05:00 GMT', 300_000],
    ['soon', undefined],
    ['120 s', undefined],
    ['', undefined],
  ])('503 and the time %j is asked again, and not before that', (retryAfter, retryAfterMs) => {
    const told = retryAfterMs === undefined ? {} : { retryAfterMs };
    expect(ofPush(503, { retryAfter, now: NOW, isOurs: true })).toStrictEqual({ ...busy(503), ...told });
  });
});

const NOW = new Date('2030-03-31T10:00:00.000Z');

const failed = (reason: string, cause = 'refused') => ({ result: 'failed', reason, cause });

function retry(reason: string) {
  return { result: 'retry', reason };
}

function refusesUs(codes: string) {
  return { ...retry(`The mail server refused our message (${codes}).`), refusesUs: true };
}
