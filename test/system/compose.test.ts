// Holds the container files to what must never slip: no secret with a default, only REST and the gateway published.
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
  expect([...services.keys()]).toEqual(['postgres', 'redis', 'accounts', 'scheduling', 'rest', 'gateway']);
  for (const [name, text] of services) expect(text, name).toContain('    healthcheck:');
});

test('no secret has a usable default: without one, docker-compose stops and says how to make it', () => {
  const uses = [...compose.matchAll(/\$\{(\w*(?:PASSWORD|TOKENS?|PEPPER))(:[?-]|)([^}]*)\}/g)];
  const names = new Set(uses.map(([, name]) => name));
  expect([...names].toSorted()).toEqual([
    'GATEWAY_TOKENS',
    'KEY_PEPPER',
    'POSTGRES_PASSWORD',
    'REDIS_PASSWORD',
    'SERVICE_TOKEN',
  ]);
  for (const [use, name, operator, rest] of uses) {
    // docker-compose 1.29 reads the gateway's variables without its profile as well; the gateway itself refuses to start.
    if (name === 'GATEWAY_TOKENS') expect([operator, rest]).toEqual([':-', '']);
    else expect([operator, rest], use).toEqual([':?', expect.stringContaining('openssl rand -hex 32')]);
  }
});

test('only REST is published, and the gateway under its profile; on loopback, on a range that --scale can use', () => {
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
  ]);
  expect([...services].filter(([, text]) => text.includes('profiles:')).map(([name]) => name)).toEqual([
    'gateway',
  ]);
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
