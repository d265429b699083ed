// Holds the table of docs/operations/deploy.md, by which firewalls are set, against what the programs ask for; and runs a command of it.
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Environment, readEnvironment } from '../../services/platform/process/config.ts';
import { readVapidKeys } from '../../services/reminders/channels/vapid-keys.ts';
import { root, startProcess } from '../support/processes.ts';

test('the commands that make VAPID keys work with the base64 of macOS, which has no -w', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-vapid-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'secrets'));
  const base64 = '#!/bin/sh\n[ $# = 0 ] || exit 64\nexec /usr/bin/base64\n';
  writeFileSync(join(folder, 'base64'), base64, { mode: 0o755 });
  const page = readFileSync(join(root, 'docs/reminders.md'), 'utf8');
  const [, commands = ''] = /```sh\n(encode\(\)[^`]*)```/.exec(page) ?? [];
  const env = { PATH: `${folder}:${process.env.PATH}` };
  expect(await startProcess('bash', ['-ec', commands], { cwd: folder, env }).ended).toBe(0);
  const keys = readFileSync(join(folder, 'secrets/vapid_keys'), 'utf8').trim();
  expect(readVapidKeys(keys).publicKey).toHaveLength(87);
});

test.each([
  ['PostgreSQL 15 or newer', 'DATABASE_URL', ['accounts', 'reminders', 'scheduling']],
  ['Redis 7 or newer', 'REDIS_URL', ['rest']],
  ['`npm run accounts`', 'ACCOUNTS_URL', ['gateway', 'reminders', 'rest']],
  ['`npm run scheduling`', 'SCHEDULING_URL', ['gateway', 'reminders', 'rest']],
  ['`npm run reminders`', 'REMINDERS_URL', ['gateway']],
])(
  'the page says that %s is reachable from every program that reads %s',
  async (part, variable, programs) => {
    expect(await readersOf(variable)).toEqual(programs);
    const page = readFileSync(join(root, 'docs/operations/deploy.md'), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith(`| ${part}`)) ?? '';
    const reachableFrom = row.split('|').at(-2) ?? '';
    for (const program of programs) expect(reachableFrom).toMatch(new RegExp(`\\b${program}\\b`));
  },
);

test('secrets in the .env of an older compose file are all copied, or none where the shell refuses a line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-older-compose-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(root, 'deploy'), join(folder, 'deploy'), { recursive: true });
  const page = readFileSync(join(root, 'docs/operations/deploy.md'), 'utf8');
  const [, command = ''] = /`(\(set -ae;[^`]*)`/.exec(page) ?? [];
  const copyFrom = (line: string) => {
    writeFileSync(join(folder, '.env'), `${line}\nKEY_PEPPER=1:old\n`);
    return startProcess('bash', ['-c', command], { cwd: folder }).ended;
  };
  for (const line of [
    'MAIL_FROM=Reminders <reminders@example.com>',
    'POSTGRES_PASSWORD=two words',
    'POSTGRES_PASSWORD=a&b',
  ]) {
    expect(await copyFrom(line)).not.toBe(0);
    expect(existsSync(join(folder, 'secrets'))).toBe(false);
  }
  expect(await copyFrom("MAIL_FROM='Reminders <reminders@example.com>'")).toBe(0);
  expect(readFileSync(join(folder, 'secrets/key_pepper'), 'utf8')).toBe('1:old\n');
});

test('HAProxy gets its signal from inside its container: one from Docker would keep Docker from restarting it', () => {
  const page = readFileSync(join(root, 'docs/operations/deploy.md'), 'utf8');
  expect(page.match(/`docker-compose [^`]*USR2[^`]*`/g)).toEqual([
    "`docker-compose exec -T proxy sh -c 'kill -USR2 1'`",
    "`docker-compose exec -T proxy sh -c 'kill -USR2 1'`",
  ]);
});

test('the lines that the page removes for a proxy in front of HAProxy are all that hide the clients from the services', () => {
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  expect(read('docs/operations/deploy.md')).toContain(
    'remove the three lines `http-request del-header X-Forwarded-For` from haproxy.cfg',
  );
  expect(read('deploy/haproxy/haproxy.cfg').match(/^.*X-Forwarded-For$/gm)).toEqual([
    '  http-request del-header X-Forwarded-For',
    '  http-request del-header X-Forwarded-For',
    '  http-request del-header X-Forwarded-For',
  ]);
});

/** The programs whose configuration reads `variable`. */
async function readersOf(variable: string): Promise<string[]> {
  const readers: string[] = [];
  for (const file of globSync('{services/*,gateway}/config.ts', { cwd: root })) {
    const asked = new Set<string>();
    const recording = new Proxy<Environment>({}, { get: (_, name) => void asked.add(String(name)) });
    const module: Record<string, unknown> = await import(join(root, file));
    const [read] = Object.entries(module).flatMap(([name, value]) =>
      /^read\w+Config$/.test(name) ? [value] : [],
    );
    if (typeof read !== 'function') throw new Error(`${file} has no reader`);
    // Nothing is set, so what is required is reported as missing: only the asking matters.
    expect(() => readEnvironment(recording, (reader) => void read(reader))).not.toThrow(TypeError);
    if (asked.has(variable)) readers.push(basename(dirname(file)));
  }
  return readers.toSorted();
}
