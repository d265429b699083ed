// One slow or failing host does not hold up what goes to others.
import { expect, test } from 'vitest';
import { createHosts } from '../../services/reminders/sending/hosts.ts';

test('a host that fails five times in a row rests for 30 s, and is then tried again', async () => {
  let clockMs = 1000;
  const hosts = createHosts({ perHost: 2, clock: () => clockMs });
  for (let failed = 1; failed <= 4; failed += 1) hosts.note('slow', false);
  expect(hosts.restMs('slow')).toBe(0);
  hosts.note('slow', false);
  expect(hosts.restMs('slow')).toBe(30_000);
  expect(await hosts.run('slow', async () => 'ran')).toBeUndefined();
  expect(await hosts.run('other', async () => 'ran')).toBe('ran');
  clockMs = 31_000;
  expect(await hosts.run('slow', async () => 'ran')).toBe('ran');
  hosts.note('slow', false);
  expect(hosts.restMs('slow')).toBe(30_000);
});

test('after its rest one message tries a host, and others wait for what becomes of it', async () => {
  let clockMs = 0;
  const hosts = createHosts({ perHost: 2, clock: () => clockMs });
  for (let failed = 1; failed <= 5; failed += 1) hosts.note('slow', false);
  clockMs = 30_000;
  const gate = Promise.withResolvers<string>();
  const first = hosts.run('slow', () => gate.promise);
  expect(await hosts.run('slow', async () => 'ran')).toBeUndefined();
  expect(hosts.restMs('slow')).toBe(30_000);
  gate.resolve('ran');
  expect(await first).toBe('ran');
  hosts.note('slow', true);
  expect(await hosts.run('slow', async () => 'ran')).toBe('ran');
});

test('a success ends the row of failures', () => {
  const hosts = createHosts({ perHost: 2, clock: () => 0 });
  for (const isWorking of [false, false, false, false, true, false]) hosts.note('host', isWorking);
  expect(hosts.restMs('host')).toBe(0);
});

test('10,000 failing hosts are remembered, and the one that failed first is forgotten for one more', () => {
  const hosts = createHosts({ perHost: 2, clock: () => 0 });
  for (let failed = 1; failed <= 5; failed += 1) hosts.note('first', false);
  for (let other = 2; other <= 10_000; other += 1) hosts.note(`host ${other}`, false);
  expect(hosts.restMs('first')).toBe(30_000);
  hosts.note('one more', false);
  expect(hosts.restMs('first')).toBe(0);
});

test('a host has two places; what waits for them goes no further once the host rests', async () => {
  const hosts = createHosts({ perHost: 2, clock: () => 0 });
  const gate = Promise.withResolvers<void>();
  const ran: string[] = [];
  const work = (name: string) => async () => {
    ran.push(name);
    await gate.promise;
    return name;
  };
  const answers = ['a', 'b', 'c'].map((name) => hosts.run('slow', work(name)));
  const other = hosts.run('other', work('d'));
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(ran).toEqual(['a', 'b', 'd']);
  for (let failed = 1; failed <= 5; failed += 1) hosts.note('slow', false);
  gate.resolve();
  expect(await Promise.all(answers)).toEqual(['a', 'b', undefined]);
  expect(await other).toBe('d');
});
