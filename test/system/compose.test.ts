// Holds the container files to what must never slip: no secret with a default, REST alone published but for profiles.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { argumentsOf } from '../support/services.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
const compose = read('docker-compose.yml');
const [, servicesText = ''] = compose.split('\nservices:\n');

/** Each service's own lines; the file is indented by two spaces. */
const services = new Map(
  [...servicesText.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)+)/gm)].map(([, name = '', text = '']) => [
    name,
    text,
  ]),
);

test('every service has a container of its own with a health check', () => {
  expect([...services.keys()]).toEqual([
    'postgres',
    'redis',
    'accounts',
    'scheduling',
    'rest',
    'gateway',
    'reminders',
  ]);
  for (const [name, text] of services) expect(text, name).toContain('    healthcheck:');
});

test('no secret has a usable default: without one, docker-compose stops and says how to make it', () => {
  const uses = [
    ...compose.matchAll(/\$\{(\w*(?:PASSWORD|TOKENS?|PEPPER|SMTP_URL|VAPID_KEYS))(:[?-]|)([^}]*)\}/g),
  ];
  const names = new Set(uses.map(([, name]) => name));
  expect([...names].toSorted()).toEqual([
    'GATEWAY_TOKENS',
    'KEY_PEPPER',
    'POSTGRES_PASSWORD',
    'REDIS_PASSWORD',
    'SERVICE_TOKEN',
    'SMTP_URL',
    'VAPID_KEYS',
  ]);
  for (const [use, name, operator, rest] of uses) {
    // docker-compose 1.29 reads the variables of a profile without it as well; the gateway and reminders refuse to start.
    if (['GATEWAY_TOKENS', 'SMTP_URL', 'VAPID_KEYS'].includes(name ?? ''))
      expect([operator, rest], use).toEqual([':-', '']);
    else expect([operator, rest], use).toEqual([':?', expect.stringContaining('openssl rand -hex 32')]);
  }
});

test('only REST is published, and gateway and reminders under their profiles; on loopback, on a range that --scale can use', () => {
  const published = [...services].flatMap(([name, text]) =>
    [...text.matchAll(/^ {4}ports: \["\$\{\w+:-(.*)\}:(\d+)"\]$|^ {4}ports:.*$/gm)].map(([, host, port]) => [
      name,
      host,
      port,
    ]),
  );
  expect(published).toEqual([
    ['rest', '127.0.0.1:8080-8089', '8080'],
    ['gateway', '127.0.0.1:4000-4009', '4000'],
    ['reminders', '127.0.0.1:8090-8099', '8090'],
  ]);
  expect([...services].filter(([, text]) => text.includes('profiles:')).map(([name]) => name)).toEqual([
    'gateway',
    'reminders',
  ]);
});

test('the gateway asks for reminders only when told that they run', () => {
  expect(services.get('gateway')).toMatch(/^ {6}REMINDERS: \$\{REMINDERS:-off\}$/m);
  expect(services.get('gateway')).toContain('      REMINDERS_URL: reminders:50053\n');
});

test('the image runs as another user than root, without development or optional packages', () => {
  const [, runtime = ''] = read('Dockerfile')
    .split(/^FROM .*$/m)
    .slice(1);
  expect(read('Dockerfile')).toContain('npm ci --omit=dev --omit=optional --ignore-scripts');
  expect(runtime).toContain('\nUSER node\n');
  expect(runtime).not.toContain('npm ');
  const [flag] = argumentsOf('rest');
  expect(flag).toBe('--max-semi-space-size=16');
  expect(runtime).toContain(`NODE_OPTIONS=${flag}\n`);
});
