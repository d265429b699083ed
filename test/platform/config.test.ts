// What each process makes of its environment: defaults, the least and the most of each variable, and what is refused.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readGatewayConfig } from '../../gateway/config.ts';
import { readAccountsConfig } from '../../services/accounts/config.ts';
import { readTelemetryConfig } from '../../services/platform/observability/telemetry.ts';
import { ConfigError, readCollecting, readEnvironment } from '../../services/platform/process/config.ts';
import { unknownVariables, VARIABLES } from '../../services/platform/process/variables.ts';
import { readRemindersConfig } from '../../services/reminders/config.ts';
import { readRestConfig } from '../../services/rest/config.ts';
import { readSchedulingConfig } from '../../services/scheduling/config.ts';

test('every bad variable is reported at once, and no secret is repeated', () => {
  const environment = {
    HOST: '0.0.0.0',
    ACCOUNTS_PORT: '99999',
    LOG_LEVEL: 'loud',
    KEY_PEPPER: '1:short',
    KEY_CREATION_LIMIT_PER_HOUR: '1.5',
  };
  expect(problemsOf(() => readEnvironment(environment, readAccountsConfig))).toEqual([
    'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
    'HOST is 0.0.0.0: beyond loopback, gRPC needs SERVICE_TOKEN (the same in every service) or GRPC_TLS_CERT, GRPC_TLS_KEY and GRPC_TLS_CA',
    'ACCOUNTS_PORT must be a whole number from 0 to 65535, not "99999"',
    'DATABASE_URL is not set: the PostgreSQL to use, as postgres://user:password@host:5432/name',
    'KEY_PEPPER must be VERSION:SECRET entries, each secret at least 32 characters long',
    'KEY_CREATION_LIMIT_PER_HOUR must be a whole number from 1 to 1000000, not "1.5"',
  ]);
});

const SECRET = 's'.repeat(32);

const ACCOUNTS = { DATABASE_URL: 'postgres://x', KEY_PEPPER: `1:${SECRET}` };

const accounts = (environment: object) =>
  readEnvironment({ ...ACCOUNTS, ...environment }, readAccountsConfig);

const scheduling = (environment: object) =>
  readEnvironment({ DATABASE_URL: 'postgres://x', ...environment }, readSchedulingConfig);

describe('what is not set, or empty, has the documented default', () => {
  const common = {
    logLevel: 'info',
    shutdownTimeoutMs: 10_000,
    drainMs: 0,
    trust: { serviceTokens: [], tls: undefined },
  };
  const emptied = (names: string[]) => Object.fromEntries(names.map((name) => [name, '']));

  test.each([
    ['not set', () => ({})],
    [
      'empty',
      () =>
        emptied(Object.keys(VARIABLES).filter((name) => !(name in ACCOUNTS) && name !== 'GATEWAY_TOKENS')),
    ],
  ])('%s', (_how, make) => {
    expect(rest(make())).toEqual({
      ...common,
      corsOrigins: new Set(),
      trustedProxies: [],
      host: '127.0.0.1',
      port: 8080,
      schedulingTarget: '127.0.0.1:50051',
      accountsTarget: '127.0.0.1:50052',
      redisUrl: undefined,
      writeLimitPerMinute: 60,
      docs: true,
    });
    expect(accounts(make())).toEqual({
      ...common,
      host: '127.0.0.1',
      port: 50_052,
      databaseUrl: 'postgres://x',
      peppers: [{ version: '1', secret: SECRET }],
      keysPerHour: 5,
    });
    expect(scheduling(make())).toEqual({
      ...common,
      host: '127.0.0.1',
      port: 50_051,
      databaseUrl: 'postgres://x',
    });
    expect(gateway(make())).toEqual({
      ...common,
      host: '127.0.0.1',
      port: 4000,
      schedulingTarget: '127.0.0.1:50051',
      accountsTarget: '127.0.0.1:50052',
      remindersTarget: '127.0.0.1:50053',
      trustedProxies: [],
      tokens: [{ name: 'ann', role: 'viewer', sha256: expect.any(Buffer) }],
    });
    expect(readEnvironment(make(), readTelemetryConfig)).toEqual({
      ops: undefined,
      traceEndpoint: undefined,
    });
  });

  test.each([
    [
      'DATABASE_URL, which accounts needs',
      accounts,
      'DATABASE_URL is not set: the PostgreSQL to use, as postgres://user:password@host:5432/name',
    ],
    [
      'KEY_PEPPER, which accounts needs',
      accounts,
      'KEY_PEPPER is not set: VERSION:SECRET, for example 1: and the output of "openssl rand -hex 32"',
    ],
    [
      'DATABASE_URL, which scheduling needs',
      scheduling,
      'DATABASE_URL is not set: the PostgreSQL to use, as postgres://user:password@host:5432/name',
    ],
    [
      'GATEWAY_TOKENS, which the gateway needs',
      gateway,
      'GATEWAY_TOKENS is not set: name:role:token entries separated by commas, role viewer or operator, token of at least 32 characters such as the output of "openssl rand -hex 32"',
    ],
  ])('but %s', (what, read, problem) => {
    const [name = ''] = what.split(',');
    for (const value of [undefined, '']) expect(problemsOf(() => read({ [name]: value }))).toEqual([problem]);
  });
});

describe('a whole number', () => {
  test.each<[string, number, number, (environment: object) => unknown]>([
    ['REST_PORT', 0, 65_535, (environment) => rest(environment).port],
    ['GRAPHQL_PORT', 0, 65_535, (environment) => gateway(environment).port],
    ['ACCOUNTS_PORT', 0, 65_535, (environment) => accounts(environment).port],
    ['SCHEDULING_PORT', 0, 65_535, (environment) => scheduling(environment).port],
    [
      'OPS_PORT',
      0,
      65_535,
      (environment) => readEnvironment({ ...environment }, readTelemetryConfig).ops?.port,
    ],
    ['WRITE_LIMIT_PER_MINUTE', 1, 100_000, (environment) => rest(environment).writeLimitPerMinute],
    ['KEY_CREATION_LIMIT_PER_HOUR', 1, 1_000_000, (environment) => accounts(environment).keysPerHour],
    ['SHUTDOWN_TIMEOUT_MS', 0, 600_000, (environment) => rest(environment).shutdownTimeoutMs],
    // 5 s less than the default of SHUTDOWN_TIMEOUT_MS.
    ['DRAIN_MS', 0, 5000, (environment) => rest(environment).drainMs],
  ])('in %s is from %i to %i', (name, min, max, read) => {
    expect([read({ [name]: `${min}` }), read({ [name]: `${max}` })]).toEqual([min, max]);
    const bad = [
      `${min - 1}`,
      `${max + 1}`,
      ' ',
      `${max} `,
      ` ${min}`,
      '1e1',
      '0x1',
      '1.0',
      '+1',
      '-0',
      '½',
      'NaN',
    ];
    for (const value of bad) {
      expect(
        problemsOf(() => read({ [name]: value })),
        value,
      ).toEqual([`${name} must be a whole number from ${min} to ${max}, not "${value}"`]);
    }
  });

  test('in a port of another service says where it is called, unless its URL does', () => {
    const ports = { SCHEDULING_PORT: '1', ACCOUNTS_PORT: '2' };
    const targets = { schedulingTarget: '127.0.0.1:1', accountsTarget: '127.0.0.1:2' };
    expect(rest(ports)).toMatchObject(targets);
    expect(gateway(ports)).toMatchObject(targets);
    const urls = { SCHEDULING_URL: 'scheduling:3', ACCOUNTS_URL: 'accounts:4' };
    for (const read of [rest, gateway])
      expect(read({ ...ports, ...urls })).toMatchObject({
        schedulingTarget: 'scheduling:3',
        accountsTarget: 'accounts:4',
      });
  });
});

describe('the address of a service', () => {
  test.each([
    'scheduling:50051',
    '[::1]:50051',
    'ipv4:10.0.0.1:50051,10.0.0.2:50051',
    'dns:///scheduling:50051',
    'unix:/run/scheduling',
  ])('can be %s', (SCHEDULING_URL) => {
    expect(rest({ SCHEDULING_URL }).schedulingTarget).toBe(SCHEDULING_URL);
  });

  test.each(['http://scheduling:50051', 'scheduling', 'scheduling:', '::1', ' scheduling:50051', ','])(
    'cannot be "%s", which would name no host and port',
    (url) => {
      expect(problemsOf(() => rest({ SCHEDULING_URL: url }))).toEqual([
        `SCHEDULING_URL must be host:port, or a list such as ipv4:10.0.0.1:50051,10.0.0.2:50051, not "${url}"`,
      ]);
    },
  );
});

describe('CORS_ORIGINS', () => {
  test('is a list of origins', () => {
    expect([...rest({}).corsOrigins]).toEqual([]);
    const given = 'https://app.example.com, http://127.0.0.1:5173';
    expect([...rest({ CORS_ORIGINS: given }).corsOrigins]).toEqual([
      'https://app.example.com',
      'http://127.0.0.1:5173',
    ]);
  });

  test.each([
    'capacitor://localhost',
    'ionic://localhost',
    'tauri://localhost',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  ])('may hold %s, the origin of an app or a browser extension', (origin) => {
    expect([...rest({ CORS_ORIGINS: origin }).corsOrigins]).toEqual([origin]);
  });

  test.each([
    '*',
    'null',
    'app.example.com',
    'htps://app.example.com',
    'capacitor://localhost/',
    'https://app.example.com/',
    'https://App.example.com',
    'https://*.example.com',
    'ftp://x',
  ])('does not take %s, which no browser sends, or which is every page', (origin) => {
    expect(problemsOf(() => rest({ CORS_ORIGINS: origin }))).toEqual([
      `CORS_ORIGINS must hold origins like https://app.example.com, separated by commas, not "${origin}"`,
    ]);
  });
});

describe('one of several words', () => {
  test.each([
    ['DOCS', ['on', 'off'], ['ON', 'true', '0', ' ', 'on ', 'no']],
    [
      'LOG_LEVEL',
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      ['INFO', 'all', ' ', 'info '],
    ],
  ])('in %s is one of %j', (name, good, bad) => {
    const key = name === 'DOCS' ? 'docs' : 'logLevel';
    const values = good.map((value) => rest({ [name]: value })[key]);
    expect(values).toEqual(name === 'DOCS' ? [true, false] : good);
    for (const value of bad)
      expect(problemsOf(() => rest({ [name]: value }))).toEqual([
        `${name} must be one of ${good.join(', ')}, not "${value}"`,
      ]);
  });
});

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  test.each([
    ['SERVICE_TOKEN', SECRET, (environment: object) => rest(environment).trust.serviceTokens[0]],
    ['REDIS_URL', 'redis://x', (environment: object) => rest(environment).redisUrl],
    ['KEY_PEPPER', `1:${SECRET}`, (environment: object) => accounts(environment).peppers[0]?.secret],
    ['DATABASE_URL', 'postgres://x', (environment: object) => scheduling(environment).databaseUrl],
    ['GATEWAY_TOKENS', `ann:viewer:${SECRET}`, (environment: object) => gateway(environment).tokens.length],
  ])('%s_FILE is the same as %s, without the line break at the end', (name, value, read) => {
    const fromFile = read({ [name]: '', [`${name}_FILE`]: file(name, `${value}\n`) });
    expect(fromFile).toBeDefined();
    expect(fromFile).toEqual(read({ [name]: value }));
  });

  test('loses one line break at its end, of Windows too, and nothing else', () => {
    for (const [name, end] of [
      ['blank', ' \r\n'],
      ['lines', '\n\n'],
      ['bare', ''],
    ] as const) {
      const [pepper] = accounts({
        KEY_PEPPER: '',
        KEY_PEPPER_FILE: file(name, `1: ${SECRET}${end}`),
      }).peppers;
      expect(pepper?.secret, name).toBe(` ${SECRET}${{ blank: ' ', lines: '\n', bare: '' }[name]}`);
    }
  });

  test('loses the byte order mark that Windows puts before it', () => {
    const path = file('mark', `\uFEFF1:${SECRET}\r\n`);
    expect(accounts({ KEY_PEPPER: '', KEY_PEPPER_FILE: path }).peppers).toEqual([
      { version: '1', secret: SECRET },
    ]);
  });

  test('is refused beside the variable, and where it cannot be read, without its value', () => {
    const path = file('both', SECRET);
    expect(problemsOf(() => rest({ SERVICE_TOKEN: SECRET, SERVICE_TOKEN_FILE: path }))).toEqual([
      'SERVICE_TOKEN and SERVICE_TOKEN_FILE are both set: remove one of them',
    ]);
    expect(problemsOf(() => rest({ REDIS_URL_FILE: `${folder}/none` }))).toEqual([
      `REDIS_URL_FILE names a file that cannot be read (ENOENT): ${folder}/none`,
    ]);
  });

  test('is checked like the variable: an empty file counts as unset, a short token is refused', () => {
    expect(rest({ SERVICE_TOKEN_FILE: file('empty', '\n') }).trust.serviceTokens).toEqual([]);
    expect(problemsOf(() => rest({ SERVICE_TOKEN_FILE: file('short', 'abc\n') }))).toEqual([
      'each secret in SERVICE_TOKEN must have at least 32 characters',
    ]);
  });
});

describe('KEY_PEPPER', () => {
  const TEXT = 'KEY_PEPPER must be VERSION:SECRET entries, each secret at least 32 characters long';
  const peppers = (text: string) => accounts({ KEY_PEPPER: text }).peppers;

  test('is all that stands behind its first colon, the newest first', () => {
    const secret = `:${'a'.repeat(20)}:${'b'.repeat(20)}:`;
    expect(peppers(`v.1_-:${secret},2:${SECRET}`)).toEqual([
      { version: 'v.1_-', secret },
      { version: '2', secret: SECRET },
    ]);
  });

  test.each([
    ['a secret of 31 characters', `1:${'s'.repeat(31)}`],
    ['a second secret that is short', `1:${SECRET},2:${'s'.repeat(31)}`],
    ['a comma at the end', `1:${SECRET},`],
    ['no version', `:${SECRET}`],
    ['no colon', SECRET],
    ['a version of 33 characters', `${'v'.repeat(33)}:${SECRET}`],
    ['a version with a space', `1, 2:${SECRET}`],
    ['nothing but a space', ' '],
  ])('is refused with %s', (_what, text) => {
    expect(problemsOf(() => peppers(text))).toContain(TEXT);
  });

  test('takes a version of 32 characters, and none twice', () => {
    expect(peppers(`${'v'.repeat(32)}:${SECRET}`)).toHaveLength(1);
    expect(problemsOf(() => peppers(`1:${SECRET},1:${'t'.repeat(32)}`))).toEqual([
      'KEY_PEPPER names a version twice',
    ]);
  });

  test('has no entry on a line of its own, which would be a part of the secret before it', () => {
    expect(problemsOf(() => peppers(`2:${SECRET}\r\n1:${'t'.repeat(32)}`))).toEqual([
      'KEY_PEPPER must have commas between its entries, not line breaks',
    ]);
  });
});

describe('SERVICE_TOKEN', () => {
  const TEXT = 'each secret in SERVICE_TOKEN must have at least 32 characters';

  test('is one of 32 characters, or several in their order', () => {
    expect(rest({ SERVICE_TOKEN: SECRET }).trust.serviceTokens).toEqual([SECRET]);
    const both = `${'n'.repeat(32)},${'o'.repeat(40)}`;
    for (const read of [rest, accounts, scheduling, gateway])
      expect(read({ SERVICE_TOKEN: both }).trust.serviceTokens).toEqual(['n'.repeat(32), 'o'.repeat(40)]);
  });

  test('has no blanks around each, which a list and the end of a file may have', () => {
    const [one, other] = ['n'.repeat(32), `o${' '.repeat(30)}o`];
    expect(rest({ SERVICE_TOKEN: ` ${one}, ${other}\n\n` }).trust.serviceTokens).toEqual([one, other]);
  });

  test.each(['é', '\u0001', '\n', '\uffff'])(
    'is refused with %j in it, which no header can hold',
    (character) => {
      const problems = problemsOf(() => rest({ SERVICE_TOKEN: `${SECRET},${SECRET}${character}${SECRET}` }));
      expect(problems).toEqual(['each secret in SERVICE_TOKEN must consist of printable ASCII characters']);
    },
  );

  test.each([
    ['a short one', 's'.repeat(31)],
    ['a short one behind a long one', `${SECRET},short`],
    ['a short one before a long one', `${'s'.repeat(31)},${SECRET}`],
    ['a comma at the end', `${SECRET},`],
    ['a comma at the beginning', `,${SECRET}`],
    ['a space', ' '],
  ])('is refused by every service with %s', (_what, text) => {
    for (const read of [rest, accounts, scheduling, gateway])
      expect(problemsOf(() => read({ SERVICE_TOKEN: text }))).toEqual([TEXT]);
  });
});

describe('GATEWAY_TOKENS', () => {
  const tokens = (text: string) => gateway({ GATEWAY_TOKENS: text }).tokens;

  test('takes a name of 64 characters and a token of 32', () => {
    expect(tokens(`${'n'.repeat(64)}:operator:${SECRET}`)).toMatchObject([
      { name: 'n'.repeat(64), role: 'operator' },
    ]);
  });

  test.each([
    ['a token of 31 characters', `ann:viewer:${'s'.repeat(31)}`],
    ['a second entry that is bad', `ann:viewer:${SECRET},bob:viewer:`],
    ['a token that no header can hold', `ann:viewer:${SECRET}é`],
    ['a comma at the end', `ann:viewer:${SECRET},`],
    ['a name of 65 characters', `${'n'.repeat(65)}:viewer:${SECRET}`],
    ['no name', `:viewer:${SECRET}`],
    ['a name with a space', `a n:viewer:${SECRET}`],
    ['a role in capitals', `ann:Viewer:${SECRET}`],
    ['a role that there is not', `ann:admin:${SECRET}`],
    ['no role', `ann:${SECRET}`],
    ['a space alone', ' '],
  ])('is refused with %s, and not repeated', (_what, text) => {
    const problems = problemsOf(() => tokens(text));
    expect(problems).toEqual([expect.stringMatching(/^GATEWAY_TOKENS must be name:role:token entries/)]);
    expect(problems.join()).not.toContain('ssss');
  });
});

describe('sign-in with OpenID Connect', () => {
  const oidc = (environment: object) =>
    readEnvironment({ OIDC_AUDIENCE: 'srs', ...environment }, readGatewayConfig).oidc;

  test('needs no gateway token, and finds roles in the claim "roles"', () => {
    expect(oidc({ OIDC_ISSUER: 'https://login.example.com/realms/a' })).toEqual({
      issuer: 'https://login.example.com/realms/a',
      audience: 'srs',
      roleClaim: 'roles',
    });
    for (const OIDC_ISSUER of ['http://127.0.0.1:9000', 'http://localhost', 'http://[::1]:9000'])
      expect(oidc({ OIDC_ISSUER })?.issuer).toBe(OIDC_ISSUER);
  });

  test.each([
    'login.example.com',
    'http://login.example.com',
    'http://10.0.0.1',
    'https://a:b@example.com',
    'ftp://x',
  ])('does not trust the issuer %s', (OIDC_ISSUER) => {
    expect(problemsOf(() => oidc({ OIDC_ISSUER }))).toEqual([
      'OIDC_ISSUER must be the https URL of an OpenID provider (http only on loopback)',
    ]);
  });

  test('names what is missing, and what is set in vain', () => {
    expect(problemsOf(() => oidc({ OIDC_ISSUER: 'https://a.example', OIDC_AUDIENCE: '' }))).toEqual([
      "OIDC_AUDIENCE is not set: the gateway's client ID at the OpenID provider",
    ]);
    expect(problemsOf(() => gateway({ OIDC_AUDIENCE: 'srs', OIDC_ROLE_CLAIM: 'groups' }))).toEqual([
      'OIDC_AUDIENCE is set without OIDC_ISSUER',
      'OIDC_ROLE_CLAIM is set without OIDC_ISSUER',
    ]);
  });
});

describe('mutual TLS', () => {
  const FILES = ['GRPC_TLS_CERT', 'GRPC_TLS_KEY', 'GRPC_TLS_CA'] as const;
  const here = join(import.meta.dirname, 'config.test.ts');

  test.each([1, 2, 3, 4, 5, 6])('is refused with some of its files: %i', (set) => {
    const given = FILES.filter((_, index) => set & (1 << index));
    const missing = FILES.filter((name) => !given.includes(name));
    const environment = Object.fromEntries(given.map((name) => [name, here]));
    for (const read of [rest, accounts, scheduling, gateway])
      expect(problemsOf(() => read(environment))).toEqual(
        missing.map(
          (name) => `${name} is not set: mutual TLS needs all of GRPC_TLS_CERT, GRPC_TLS_KEY, GRPC_TLS_CA`,
        ),
      );
  });

  test('takes all three, each from its own file, and names one that cannot be read', () => {
    const content = readFileSync(here);
    const all = {
      GRPC_TLS_CERT: here,
      GRPC_TLS_KEY: join(root, 'LICENSE'),
      GRPC_TLS_CA: join(root, 'README.md'),
    };
    expect(rest(all).trust.tls).toEqual({
      certificate: content,
      key: readFileSync(join(root, 'LICENSE')),
      authority: readFileSync(join(root, 'README.md')),
    });
    expect(accounts({ ...all, HOST: '0.0.0.0' }).host).toBe('0.0.0.0');
    expect(problemsOf(() => rest({ ...all, GRPC_TLS_KEY: '/nowhere' }))).toEqual([
      'GRPC_TLS_KEY names a file that cannot be read: /nowhere',
    ]);
  });
});

describe('HOST', () => {
  test.each(['127.0.0.1', '127.9.9.9', '127.10.200.30', 'localhost', '::1'])('%s needs no trust', (host) => {
    expect([accounts({ HOST: host }).host, scheduling({ HOST: host }).host]).toEqual([host, host]);
  });
  test.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', '1.127.0.0.1', 'host', ' '])(
    '%s needs a token or TLS for gRPC, and nothing for HTTP',
    (host) => {
      for (const read of [accounts, scheduling]) {
        expect(problemsOf(() => read({ HOST: host }))).toEqual([
          `HOST is ${host}: beyond loopback, gRPC needs SERVICE_TOKEN (the same in every service) or GRPC_TLS_CERT, GRPC_TLS_KEY and GRPC_TLS_CA`,
        ]);
        expect(read({ HOST: host, SERVICE_TOKEN: SECRET }).host).toBe(host);
      }
      expect([rest({ HOST: host }).host, gateway({ HOST: host }).host]).toEqual([host, host]);
    },
  );
});

describe('OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  const endpoint = (text: string) =>
    readEnvironment({ OTEL_EXPORTER_OTLP_ENDPOINT: text }, readTelemetryConfig).traceEndpoint;
  test('is an http or https URL', () => {
    expect(`${endpoint('http://127.0.0.1:4318')}`).toMatch(/^http:\/\/127\.0\.0\.1:4318\/?$/);
    expect(`${endpoint('https://x')}`).toMatch(/^https:\/\/x\/?$/);
    for (const text of [' ', 'x', 'ftp://x', '127.0.0.1:4318'])
      expect(
        problemsOf(() => endpoint(text)),
        text,
      ).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL, such as http://127.0.0.1:4318']);
  });
});

test.each([
  ['rest', readRestConfig],
  ['accounts', readAccountsConfig],
  ['scheduling', readSchedulingConfig],
  ['gateway', readGatewayConfig],
  ['reminders', readRemindersConfig],
] as const)('%s reads the variables that the table says', (service, readConfig) => {
  const seen = new Set<string>();
  const recording = new Proxy<Record<string, string>>({}, { get: (_, name) => void seen.add(String(name)) });
  readCollecting(new Set(), recording, (reader) => [readConfig(reader), readTelemetryConfig(reader)]);
  const read = [...seen].filter((name) => !name.endsWith('_FILE'));
  const listed = Object.entries(VARIABLES).filter(([, { readBy }]) =>
    readBy.some((each) => each === service),
  );
  expect(read.toSorted()).toEqual(listed.map(([name]) => name).toSorted());
});

test.each([
  ['REST_PROT', 'REST_PORT'],
  ['REDIS_URI', 'REDIS_URL'],
  ['DATABASE_UR', 'DATABASE_URL'],
  ['KEY_PEPPERS', 'KEY_PEPPER'],
  ['GATEWAY_TOKEN_FILE', 'GATEWAY_TOKENS_FILE'],
  ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
  ['GRPC_TLS_CERTIFICATE', 'GRPC_TLS_CERT'],
  ['WRITE_LIMIT', 'WRITE_LIMIT_PER_MINUTE'],
  ['SHUTDOWN_TIMEOUT', 'SHUTDOWN_TIMEOUT_MS'],
  ['rest_port', 'REST_PORT'],
])('%s is taken for %s, misspelled', (given, meant) => {
  expect(unknownVariables({ [given]: 'x' })).toEqual([[given, meant]]);
});

test.each([
  'GATEWAY_PORT',
  'REST_RATE_LIMIT',
  'SCHEDULING_THREADS',
  'ACCOUNTS_',
  'REMINDERS_SMTP',
  'OIDC_CLIENT_ID',
  'VAPID_PUBLIC',
])('%s begins as names of ours do, and nothing near it is ours', (given) => {
  expect(unknownVariables({ [given]: '4000' })).toEqual([[given, undefined]]);
});

test('what Kubernetes sets for Services is left alone', () => {
  const links = {
    GATEWAY_PORT: 'tcp://10.0.0.11:4000',
    GATEWAY_SERVICE_HOST: '10.0.0.11',
    GATEWAY_SERVICE_PORT: '4000',
    GATEWAY_SERVICE_PORT_HTTP: '4000',
    GATEWAY_PORT_4000_TCP: 'tcp://10.0.0.11:4000',
    GATEWAY_PORT_4000_TCP_PROTO: 'tcp',
    GATEWAY_PORT_4000_TCP_PORT: '4000',
    GATEWAY_PORT_4000_TCP_ADDR: '10.0.0.11',
    REST_API_PORT: 'udp://10.0.0.12:53',
    REST_API_SERVICE_HOST: '10.0.0.12',
  };
  expect(unknownVariables(links)).toEqual([]);
});

test('variables of other programs are left alone', () => {
  const others = {
    PORT: '1',
    HOME: '/',
    HOSTNAME: 'x',
    SMTP_HOST: 'x',
    REDIS_PORT: '1',
    HTTP_URL: 'x',
    HOSTS: 'x',
    RESTIC_REPOSITORY: 'x',
  };
  expect(unknownVariables({ ...others, REST_PORT: '1', REDIS_URL: 'x' })).toEqual([]);
});

const root = join(import.meta.dirname, '../..');

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const rest = (environment: object) => readEnvironment({ ...environment }, readRestConfig);
const gateway = (environment: object) =>
  readEnvironment({ GATEWAY_TOKENS: `ann:viewer:${SECRET}`, ...environment }, readGatewayConfig);
