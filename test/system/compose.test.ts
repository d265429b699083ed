// Holds the container files to what must never slip: secrets in files, the proxy alone published, every container bounded.
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { UNAVAILABLE_BODY } from '../../services/rest/errors.ts';
import { argumentsOf } from '../support/services.ts';

test('every service has a container of its own, bounded, with a health check that starts no program', () => {
  expect([...services.keys()]).toEqual([
    'proxy',
    'postgres',
    'redis',
    'role',
    'migrate',
    'accounts',
    'scheduling',
    'rest',
    'backup',
    'gateway',
    'reminders',
  ]);
  for (const [name, text] of services) {
    expect(text, name).toMatch(/^ {4}<<: \*(limits|service)$/m);
    if (!['role', 'migrate'].includes(name))
      expect(`${text}${serviceText}`, name).toMatch(/^ +test: \["CMD", "(bash|pg_isready)"/m);
  }
  for (const line of [
    'read_only: true',
    'cap_drop: [ALL]',
    'security_opt: ["no-new-privileges:true"]',
    'pids_limit: 200',
  ])
    expect(limitsText).toContain(`\n  ${line}\n`);
  for (const name of ['proxy', 'postgres', 'redis']) expect(services.get(name)).toContain('    mem_limit: ');
  expect(serviceText).toContain('  mem_limit: ');
});

test('every secret is a file that its service alone mounts, and no secret is in an environment', () => {
  const files = [...secretsText.matchAll(/^ {2}(\w+): \{ file: \.\/secrets\/(\w+) \}$/gm)];
  expect(files.map(([, name]) => name)).toEqual(files.map(([, , file]) => file));
  expect(files).toHaveLength(10);
  for (const [name, text] of services) {
    const mounted = /^ {4}secrets: \[(.*)\]$/m.exec(text)?.[1]?.split(', ') ?? [];
    const anchors = [
      ...(text.includes('*environment') ? ['service_token'] : []),
      ...(text.includes('*database]') ? ['database_url'] : []),
    ];
    const used = [...text.matchAll(/\/run\/secrets\/(\w+)/g)].map(([, file]) => file);
    expect([...new Set([...anchors, ...used])].toSorted(), name).toEqual(mounted.toSorted());
  }
  expect(compose).not.toMatch(/\$\{\w*(PASSWORD|TOKEN|PEPPER|SMTP_URL|VAPID)/);
});

test('git ignores the files with secrets and data that the compose file reads where the pages have them', () => {
  const ignored = read('.gitignore').split('\n');
  expect(ignored).toEqual(expect.arrayContaining(['.env', '/secrets/', '/backups/', '/tls.pem']));
});

test('only the proxy is published, each port on loopback and always the same', () => {
  const published = [...services].flatMap(([name, text]) =>
    [...text.matchAll(/^ {6}- \$\{(\w+_PUBLISH):-(.*)\}:(\d+)$/gm)].map(([, , host, port]) => [
      name,
      host,
      port,
    ]),
  );
  expect(published).toEqual([
    ['proxy', '127.0.0.1:8080', '8080'],
    ['proxy', '127.0.0.1:4000', '4000'],
    ['proxy', '127.0.0.1:8090', '8090'],
  ]);
  expect([...services].filter(([, text]) => text.includes('    ports:')).map(([name]) => name)).toEqual([
    'proxy',
  ]);
  expect([...services].filter(([, text]) => text.includes('profiles:')).map(([name]) => name)).toEqual([
    'backup',
    'gateway',
    'reminders',
  ]);
});

test('the proxy answers for a facade that is away as the facade would', () => {
  const [, body = ''] = /status 503 .* string "(.*)"$/m.exec(read('deploy/haproxy/haproxy.cfg')) ?? [];
  expect(body.replaceAll('\\"', '"')).toBe(UNAVAILABLE_BODY);
});

test('only the migration and the backup have the role that owns the tables', () => {
  const owners = [...services]
    .filter(([, text]) => text.includes('owner_database_url'))
    .map(([name]) => name);
  expect(owners).toEqual(['migrate', 'backup']);
});

test('no container leaves an anonymous volume behind for one that its image declares', () => {
  for (const [image, declared] of [
    ['postgres:18-bookworm', '/var/lib/postgresql'],
    ['redis:8-bookworm', '/data'],
  ]) {
    const users = [...services].filter(([, text]) => text.includes(`    image: ${image}\n`));
    expect(users.length, image).toBeGreaterThan(0);
    for (const [name, text] of users)
      expect(/^ {4}tmpfs: \[(.*)\]$/m.exec(text)?.[1]?.split(', '), name).toContain(declared);
  }
});

test('PostgreSQL accepts what two of each service open during an upgrade, each connection a process of its container', () => {
  // 18 of each of three containers of accounts, 16 of each of two of scheduling and of reminders, and one for the training: 119.
  expect(services.get('postgres')).toContain(' docker-entrypoint.sh postgres -c max_connections=150\n');
});

test('the gateway signs people in with the provider that the environment names', () => {
  for (const name of ['OIDC_ISSUER', 'OIDC_AUDIENCE', 'OIDC_ROLE_CLAIM'])
    expect(services.get('gateway')).toContain(`      ${name}: \${${name}:-}\n`);
});

test('the gateway asks for reminders only when told that they run', () => {
  expect(services.get('gateway')).toMatch(/^ {6}REMINDERS: \$\{REMINDERS:-off\}$/m);
  expect(services.get('gateway')).toContain('      REMINDERS_URL: reminders:50053\n');
});

test('the image runs as another user than root, without development packages, and with no optional one but the trainer', () => {
  const [, runtime = ''] = read('Dockerfile')
    .split(/^FROM .*$/m)
    .slice(1);
  expect(read('Dockerfile')).toContain('npm ci --omit=dev --ignore-scripts');
  const { optionalDependencies } = JSON.parse(read('package.json'));
  const removed = /rm -r (.*)/.exec(read('Dockerfile'))?.[1]?.split(' ') ?? [];
  const isRemoved = (name: string) =>
    removed.some((path) => matchesGlob(`node_modules/${name}`, `${path}{,/**}`));
  expect(Object.keys(optionalDependencies).filter((name) => !isRemoved(name))).toEqual([
    '@open-spaced-repetition/binding-linux-x64-gnu',
  ]);
  expect(runtime).toContain('\nUSER node\n');
  expect(runtime).not.toContain('npm ');
  const [flag] = argumentsOf('rest');
  expect(flag).toBe('--max-semi-space-size=16');
  expect(runtime).toContain(`NODE_OPTIONS=${flag}\n`);
});

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
const compose = read('docker-compose.yml');
const [headText = '', bodyText = ''] = compose.split('\nservices:\n');
const [servicesText = '', secretsText = ''] = bodyText.split('\nsecrets:\n');
const [, limitsText = '', serviceText = ''] = headText.split(/^x-(?:limits|service): .*$/m);

/** Each service's own lines; the file is indented by two spaces. */
const services = new Map(
  [...`${servicesText}\n`.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)+)/gm)].map(([, name = '', text = '']) => [
    name,
    text,
  ]),
);
