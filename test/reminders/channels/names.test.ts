// The names of push services: which addresses a name server has for them, and to which of these a message goes.
import { afterEach, describe, expect, test } from 'vitest';
import {
  checkedLookup,
  createPushNetwork,
  ForbiddenAddress,
  type PushNetwork,
} from '../../../services/reminders/channels/push/public-address.ts';
import { startDnsServer } from '../../support/dns-server.ts';

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const V4 = { address: '192.0.2.1', family: 4 };
const OTHER_V4 = { address: '192.0.2.2', family: 4 };
const V6 = { address: '2001:db8::1', family: 6 };

describe('a name is looked up', () => {
  const resolve = async (addresses: string[], name = 'push.test') => {
    const server = await startDnsServer(addresses);
    ends.push(server.stop);
    const nameServers = [`127.0.0.1:${server.port}`];
    return createPushNetwork({ allowPrivate: false, nameServers }).resolve(name);
  };
  const V6_IN_FULL = '2001:db8:0:0:0:0:0:1';

  test('with its addresses of both families, or of the one that it has', async () => {
    expect(await resolve(['192.0.2.1', V6_IN_FULL, '192.0.2.2'])).toEqual([V4, OTHER_V4, V6]);
    expect(await resolve(['192.0.2.1'])).toEqual([V4]);
    expect(await resolve([V6_IN_FULL])).toEqual([V6]);
  });

  test('and without any is an error that says so', async () => {
    await expect(resolve([])).rejects.toMatchObject({ code: 'ENODATA' });
  });

  test('by the name servers of the machine where none are given', async () => {
    // What is no name is asked of nobody.
    const { resolve: look } = createPushNetwork({ allowPrivate: false });
    await expect(look('a..b')).rejects.toMatchObject({ code: 'EBADNAME' });
  });

  test('on the machine itself, where private addresses are allowed', async () => {
    const { allowHttp, isAllowed, resolve: look } = createPushNetwork({ allowPrivate: true });
    expect([allowHttp, isAllowed('127.0.0.1'), isAllowed('1.1.1.1')]).toEqual([true, true, true]);
    expect(await look('127.0.0.1')).toEqual([{ address: '127.0.0.1', family: 4 }]);
    const guarded = createPushNetwork({ allowPrivate: false });
    expect([guarded.allowHttp, guarded.isAllowed('127.0.0.1'), guarded.isAllowed('1.1.1.1')]).toEqual([
      false,
      false,
      true,
    ]);
  });
});

describe('a connection goes', () => {
  const found = [V4, OTHER_V4, V6];
  /** What is called back: all addresses, or the first and its family. */
  const lookup = (
    options: { all?: boolean; allowed?: readonly string[]; resolve?: PushNetwork['resolve'] } = {},
  ) => {
    const { all = false, allowed = [], resolve = async () => found } = options;
    const isAllowed = (address: string) => allowed.includes(address);
    return new Promise<unknown[]>((settle) => {
      checkedLookup({ allowHttp: false, isAllowed, resolve })('push.test', { all }, (...called) =>
        settle(called),
      );
    });
  };

  test('to the first of the addresses that are allowed, or to one of them', async () => {
    const allowed = ['192.0.2.2', '2001:db8::1'];
    expect(await lookup({ allowed })).toEqual([null, '192.0.2.2', 4]);
    expect(await lookup({ allowed, all: true })).toEqual([null, [OTHER_V4, V6]]);
  });

  test('nowhere where none is allowed, or where the name is not found', async () => {
    const [forbidden, none] = await lookup();
    expect(forbidden).toBeInstanceOf(ForbiddenAddress);
    expect(none).toBe('');
    const away = Object.assign(new Error('away'), { code: 'ENOTFOUND' });
    expect(await lookup({ allowed: ['192.0.2.1'], resolve: () => Promise.reject(away) })).toEqual([away, '']);
  });
});
