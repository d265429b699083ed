// The table of npm start: addresses that can be opened as they are printed, and what is set, by its place.
import { expect, test } from 'vitest';
import { toAddresses, toScreen } from '../../services/programs/start/screen.ts';
import { readStartSettings } from '../../services/programs/start/settings.ts';

test.each([
  ['an IPv6 address', '::1', 'http://[::1]'],
  ['all IPv4 addresses', '0.0.0.0', 'http://127.0.0.1'],
  ['all addresses', '::', 'http://127.0.0.1'],
  ['a name', 'srs.internal', 'http://srs.internal'],
])(
  'a HOST that is %s is printed so that a browser opens it, and gRPC stays here without a token',
  (_, HOST, origin) => {
    expect(rowsWith({ HOST, OPS_PORT: '9090', OPS_HOST: HOST })).toMatchObject({
      'REST API': `${origin}:8080/v1`,
      'API docs': `${origin}:8080/docs`,
      GraphQL: `${origin}:4000/graphql`,
      dashboard: `${origin}:4000/dashboard`,
      'health, metrics': `${origin}:9090/ready, /metrics`,
    });
  },
);

test('what the environment sets is told without its secrets, and what is off not at all', () => {
  const rows = rowsWith({
    DOCS: 'off',
    GATEWAY_TOKENS: `olga:operator:${'g'.repeat(32)}`,
    DATABASE_URL: 'postgres://ada:geheim@db/srs',
    REDIS_URL: 'redis://:geheim@redis:6379',
    SMTP_URL: 'smtp://ada:geheim@mail',
    MAIL_FROM: 'r@example.com',
    PUBLIC_URL: 'https://r.example',
  });
  expect(rows).toMatchObject({
    'API docs': undefined,
    'gateway token': 'from GATEWAY_TOKENS',
    'reminders’ links': 'https://r.example',
    mails: 'by SMTP_URL',
    database: 'DATABASE_URL',
    'write limit': 'Redis',
  });
  expect(JSON.stringify(rows)).not.toMatch(/geheim|ggg/);
});

test.each<[Record<string, string>, string]>([
  [{}, 'http://127.0.0.1:8090'],
  [{ SMTP_URL: 'smtp://mail' }, 'http://127.0.0.1:8090, which learners cannot open: set PUBLIC_URL'],
  [
    { SMTP_URL: 'smtp://mail', PUBLIC_URL: 'https://localhost' },
    'https://localhost, which learners cannot open: set PUBLIC_URL',
  ],
  [{ SMTP_URL: 'smtp://mail', PUBLIC_URL: 'https://localhost.example' }, 'https://localhost.example'],
])('links of reminders by %j are %s', (environment, links) => {
  expect(rowsWith({ MAIL_FROM: 'r@example.com', ...environment })['reminders’ links']).toBe(links);
});

test('the next step can be pasted, whatever the name of the folder', () => {
  const dataDir = "/home/o'neill/my data";
  const screen = toScreen({ rows: [], baseUrl: '', key: '', accountsPort: 50052, hasGateway: true, dataDir });
  expect(screen).toContain(`    DATA_DIR='/home/o'\\''neill/my data' npm run seed\n`);
});

function rowsWith(environment: Record<string, string>) {
  const settings = readStartSettings(environment);
  const { rows } = toAddresses({
    settings,
    token: 'secret',
    redisFault: undefined,
    restPort: 8080,
    gatewayPort: 4000,
    opsPort: 9090,
    logFile: undefined,
    schedulingTarget: '127.0.0.1:50051',
    accountsTarget: '127.0.0.1:50052',
    remindersTarget: undefined,
  });
  return Object.fromEntries(rows);
}
