// Every environment variable, once. Programs read by this table; .env.example and docs/configuration.md are made from it
// (npm run configuration).

/**
 * `start` is npm start, which also reads what the services read. `commands` are users, clock, import and export. `npm run doctor` reads
 * all of it.
 */
type Reader =
  | 'accounts'
  | 'scheduling'
  | 'rest'
  | 'gateway'
  | 'reminders'
  | 'start'
  | 'keys'
  | 'commands'
  | 'migrate'
  | 'seed'
  | 'verify'
  | 'docker-compose';

export type Variable = {
  /** Of the part of .env.example that begins with this variable. First come the parts that docker-compose takes from .env. */
  heading?: string;
  readBy: readonly Reader[];
  /** What it is for, in Markdown. */
  says: string;
  /** The default as the docs show it, where it is not a constant or depends on the program. */
  without?: string;
  /** In .env.example, in place of the default. */
  example?: string;
  /** What to set it to, for the error message if it is missing. */
  form?: string;
  /** It can also be given as NAME_FILE, and no output repeats it. */
  isSecret?: true;
  type: Type;
};

type Type =
  | { kind: 'text'; default?: string }
  | { kind: 'wholeNumber'; default: number; min: number; max: number }
  | { kind: 'onOrOff'; default: 'on' | 'off' }
  | { kind: 'oneOf'; default: string; values: readonly [string, ...string[]] };

const TEXT = { kind: 'text' } as const;
const text = (byDefault: string) => ({ kind: 'text', default: byDefault }) as const;
const wholeNumber = (byDefault: number, min: number, max: number) =>
  ({ kind: 'wholeNumber', default: byDefault, min, max }) as const;
/** 0: any free port. */
const port = (byDefault: number) => wholeNumber(byDefault, 0, 65_535);
const onOrOff = (byDefault: 'on' | 'off') => ({ kind: 'onOrOff', default: byDefault }) as const;
const oneOf = <T extends string>(byDefault: T, values: readonly [T, ...T[]]) =>
  ({ kind: 'oneOf', default: byDefault, values }) as const;

const SERVICES = ['accounts', 'scheduling', 'rest', 'gateway', 'reminders'] as const;
const CALLERS = ['rest', 'gateway', 'reminders', 'commands'] as const;
const DATABASES = ['accounts', 'scheduling', 'reminders', 'start', 'migrate', 'seed', 'verify'] as const;
const GRPC = [...SERVICES, 'keys', 'commands'] as const;

const DATABASE_FORM = 'the PostgreSQL to use, as postgres://user:password@host:5432/name';
const MADE_BY_START = 'created by `npm start` and kept in `DATA_DIR`';

export const VARIABLES = {
  WRITE_LIMIT_PER_MINUTE: {
    heading: 'Limits',
    type: wholeNumber(60, 1, 100_000),
    readBy: ['rest'],
    says: 'Limit of writes with one key in any 60 s.',
  },
  KEY_CREATION_LIMIT_PER_HOUR: {
    type: wholeNumber(5, 1, 1_000_000),
    readBy: ['accounts'],
    says: 'Limit of new keys for one user in an hour.',
  },
  REMINDERS: {
    heading: 'Reminders',
    type: onOrOff('on'),
    readBy: ['start', 'gateway', 'commands'],
    says: '`off` leaves reminders out of `npm start`, the gateway and commands. In docker-compose, the default is `off`. To use reminders there, pass --profile reminders, set REMINDERS=on, MAIL_FROM and PUBLIC_URL, and write the file secrets/smtp_url.',
  },
  SMTP_CONNECTIONS: {
    type: wholeNumber(10, 1, 100),
    readBy: ['reminders'],
    says: 'Limit of connections of a process to the mail server. With 10 connections and 0.1 s for each mail, a process sends at most 100 mails a second.',
  },
  REMINDERS_PER_SECOND: {
    // Two processes need 145 each for 99 % of 100,000 reminders of one minute within five.
    type: wholeNumber(150, 1, 10_000),
    readBy: ['reminders'],
    says: 'Limit of reminders that a process turns into messages in a second. With a higher limit, many reminders at one time arrive sooner, but reviews on the same machine get less CPU meanwhile.',
  },
  MAIL_FROM: {
    type: text('reminders@localhost'),
    example: 'Reminders <reminders@example.com>',
    readBy: ['reminders'],
    says: 'Sender address of mails, and contact address for push services. Required with SMTP_URL.',
  },
  PUBLIC_URL: {
    type: TEXT,
    example: 'http://127.0.0.1:8090',
    without: '`http://127.0.0.1`, port `REMINDERS_HTTP_PORT`',
    readBy: ['reminders'],
    says: 'Beginning of the links in mails and of the addresses of calendars. Required if REMINDERS_HTTP_PORT is 0.',
  },
  APP_URL: {
    type: TEXT,
    example: 'https://learn.example.com',
    without: 'none: messages have no link to the learning app',
    readBy: ['reminders'],
    says: 'URL of the learning app. Mails and push messages link to it.',
  },
  REMINDER_TITLES: {
    type: onOrOff('on'),
    readBy: ['reminders'],
    says: '`off` leaves titles of materials out of messages.',
  },
  OIDC_ISSUER: {
    heading: 'Other settings',
    type: TEXT,
    example: 'https://login.example.com',
    without: 'none: gateway tokens only',
    readBy: ['gateway'],
    says: 'URL of the OpenID provider (https; http only on this machine) at which people sign in to the gateway. Write it exactly as in the `iss` of its tokens. See [sign-in](sign-in.md).',
  },
  OIDC_AUDIENCE: {
    type: TEXT,
    example: 'srs-dashboard',
    without: 'required with `OIDC_ISSUER`',
    form: "the gateway's client ID at the OpenID provider",
    readBy: ['gateway'],
    says: 'Client ID of the dashboard at the OpenID provider. The `aud` of a token must contain it.',
  },
  OIDC_ROLE_CLAIM: {
    type: text('roles'),
    readBy: ['gateway'],
    says: 'Claim of a token that contains the role, `viewer` or `operator`. Give the name of the claim, or a path such as `realm_access.roles`.',
  },
  DOCS: {
    type: onOrOff('on'),
    readBy: ['rest'],
    says: 'With `off`, /docs and /openapi.json are not served.',
  },
  CORS_ORIGINS: {
    type: TEXT,
    example: 'https://app.example.com',
    without: 'none: no other origin',
    readBy: ['rest'],
    says: 'Origins, separated by commas, whose pages may call the REST API.',
  },
  LOG_LEVEL: {
    type: oneOf('info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    readBy: [...SERVICES, 'start', 'migrate', 'verify'],
    without: '`info`; `warn` for `migrate` and `verify`',
    says: 'Lines of this level and of more severe levels are logged, and audit lines at any level. If LOG_LEVEL is not set, `npm start` on a terminal writes its log to DATA_DIR/log and shows only errors.',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    type: TEXT,
    example: 'http://127.0.0.1:4318',
    without: 'none: nothing is traced',
    readBy: SERVICES,
    says: 'Base URL of an OpenTelemetry collector (OTLP over HTTP). See [traces](operations/monitoring.md#traces).',
  },
  REST_PUBLISH: {
    heading: 'For docker-compose alone',
    type: text('127.0.0.1:8080'),
    readBy: ['docker-compose'],
    says: 'Address and port of the host at which REST can be reached.',
  },
  GRAPHQL_PUBLISH: {
    type: text('127.0.0.1:4000'),
    readBy: ['docker-compose'],
    says: 'Address and port of the host at which the gateway can be reached.',
  },
  REMINDERS_PUBLISH: {
    type: text('127.0.0.1:8090'),
    readBy: ['docker-compose'],
    says: 'Address and port of the host at which the links in reminders can be reached.',
  },
  BACKUP_DIR: {
    type: text('./backups'),
    readBy: ['docker-compose'],
    says: 'Folder for backups. `deploy/backup` reads it too, with the default `backups`.',
  },
  BACKUP_KEEP: {
    type: text('14'),
    readBy: ['docker-compose'],
    says: 'Number of backups to keep. `deploy/backup` reads it too.',
  },
  TLS_CERTIFICATE: {
    type: TEXT,
    example: './tls.pem',
    without: 'none: plain HTTP',
    readBy: ['docker-compose'],
    says: 'PEM file with certificate, chain and key. If it is set, the published ports use HTTPS.',
  },
  SERVICE_TOKEN: {
    heading:
      'Secrets (make each with: openssl rand -hex 32). NAME_FILE names a file that contains the value of NAME. For docker-compose, deploy/make-secrets writes them into files',
    type: TEXT,
    isSecret: true,
    example: '',
    without: 'none; a gRPC service that listens beyond loopback needs this or mutual TLS',
    readBy: GRPC,
    says: 'Shared secret of the gRPC services, of at least 32 characters. It can be a list, separated by commas: programs send the first secret and accept all. See [how to replace it](operations/secrets.md#service_token).',
  },
  KEY_PEPPER: {
    type: TEXT,
    isSecret: true,
    example: '',
    without: `${MADE_BY_START}; otherwise required`,
    form: 'VERSION:SECRET, for example 1: and the output of "openssl rand -hex 32"',
    readBy: ['accounts'],
    says: 'Secret with which keys are hashed, as `VERSION:SECRET`, with at least 32 characters in SECRET. It can be a list, separated by commas: new hashes use the first. A key with an older hash is hashed anew when it is used.',
  },
  GATEWAY_TOKENS: {
    type: TEXT,
    isSecret: true,
    example: '',
    without: `one operator token, ${MADE_BY_START}; otherwise required`,
    form: 'name:role:token entries separated by commas, role viewer or operator, token of at least 32 characters such as the output of "openssl rand -hex 32"',
    readBy: ['gateway'],
    says: 'Tokens for the gateway, each as `NAME:ROLE:TOKEN`, separated by commas. The role is viewer or operator. The token has at least 32 characters. Optional with OIDC_ISSUER.',
  },
  SMTP_URL: {
    heading: 'Mail and push',
    type: TEXT,
    isSecret: true,
    example: 'smtp://user:password@mail.example.com:587',
    without: 'none: mails are written into `MAIL_DIR`',
    readBy: ['reminders'],
    says: 'Mail server for reminders, as `smtp://` or `smtps://`. `npm run reminders` needs this or MAIL_DIR.',
  },
  MAIL_DIR: {
    type: TEXT,
    example: '.data/mail',
    without: '`DATA_DIR/mail` under `npm start`, otherwise none',
    readBy: ['reminders'],
    says: 'Folder into which reminders are written as .eml files. Not used if SMTP_URL is set.',
  },
  VAPID_KEYS: {
    type: TEXT,
    isSecret: true,
    without: `${MADE_BY_START}; otherwise none, and push is off`,
    readBy: ['reminders'],
    says: '`PUBLIC:PRIVATE`, the key pair that identifies the sender to push services, in base64url.',
  },
  PUSH_ALLOW_PRIVATE: {
    type: onOrOff('off'),
    readBy: ['reminders'],
    says: '`on` also allows push services at IP addresses and at private addresses, but still only over https. Use it only for tests.',
  },
  TRUSTED_PROXIES: {
    heading: 'Addresses',
    type: TEXT,
    example: 'loopback',
    without: 'none: no `X-Forwarded-For` is trusted',
    readBy: ['rest', 'gateway', 'reminders', 'start'],
    says: 'The proxies whose `X-Forwarded-For` is trusted, separated by commas: addresses, ranges in CIDR notation, `loopback`, `linklocal`, or `uniquelocal` for all private addresses. List every proxy in front of the service: behind one that is not listed, all clients appear to have the address of that proxy. List no other machine: it could forge the address of a client.',
  },
  HOST: {
    type: text('127.0.0.1'),
    readBy: SERVICES,
    says: 'Address to listen on. Under `npm start`, it applies only to REST and the gateway.',
  },
  REST_PORT: {
    type: port(8080),
    readBy: ['rest'],
    says: 'Port of REST.',
  },
  GRAPHQL_PORT: {
    type: port(4000),
    readBy: ['gateway'],
    says: 'Port of the gateway.',
  },
  SCHEDULING_PORT: {
    type: port(50_051),
    readBy: ['scheduling', ...CALLERS],
    says: 'gRPC port of scheduling.',
  },
  ACCOUNTS_PORT: {
    type: port(50_052),
    readBy: ['accounts', ...CALLERS, 'keys'],
    says: 'gRPC port of accounts.',
  },
  REMINDERS_PORT: {
    type: port(50_053),
    readBy: ['reminders', 'gateway', 'commands'],
    says: 'gRPC port of reminders.',
  },
  REMINDERS_HTTP_PORT: {
    type: port(8090),
    readBy: ['reminders'],
    says: 'HTTP port of reminders, for calendars and the links in mails.',
  },
  SCHEDULING_URL: {
    type: TEXT,
    example: '127.0.0.1:50051',
    without: '`127.0.0.1`, port `SCHEDULING_PORT`',
    readBy: CALLERS,
    says: 'Address at which other programs reach scheduling: `host:port`, or a list such as `ipv4:10.0.0.1:50051,10.0.0.2:50051`. Calls go in turn to all addresses of the host or list.',
  },
  ACCOUNTS_URL: {
    type: TEXT,
    example: '127.0.0.1:50052',
    without: '`127.0.0.1`, port `ACCOUNTS_PORT`',
    readBy: [...CALLERS, 'keys'],
    says: 'Address at which other programs reach accounts, in the form of SCHEDULING_URL.',
  },
  REMINDERS_URL: {
    type: TEXT,
    example: '127.0.0.1:50053',
    without: '`127.0.0.1`, port `REMINDERS_PORT`',
    readBy: ['gateway', 'commands'],
    says: 'Address at which other programs reach reminders, in the form of SCHEDULING_URL.',
  },
  OPS_PORT: {
    type: port(0),
    example: '9464',
    without: 'none: no such port',
    readBy: SERVICES,
    says: 'Port of GET /live, /ready and /metrics, which need no key. See [monitoring](operations/monitoring.md).',
  },
  OPS_HOST: {
    type: text('127.0.0.1'),
    readBy: SERVICES,
    says: 'Address on which OPS_PORT listens.',
  },
  DATABASE_URL: {
    heading: 'Data',
    type: TEXT,
    isSecret: true,
    example: 'postgres://user:password@127.0.0.1:5432/name',
    without: 'the embedded PostgreSQL for `start`, `seed`, `verify` and `doctor`; otherwise required',
    form: DATABASE_FORM,
    readBy: DATABASES,
    says: 'URL of the PostgreSQL database. It needs version 15 or newer, UTF-8, and a locale in which the lower case of É is é. The URL can name only one host. On [Citus](operations/database.md#citus), give the coordinator, or the address in front of it.',
  },
  DATABASE_SESSION_URL: {
    type: TEXT,
    isSecret: true,
    example: 'postgres://user:password@127.0.0.1:5432/name',
    without: 'none',
    readBy: DATABASES,
    says: 'URL of the same database without a connection pooler. Set it if DATABASE_URL goes through a pooler in transaction mode. Then migrate, seed and verify use it instead of DATABASE_URL. See [PgBouncer](operations/database.md#pgbouncer).',
  },
  DATA_DIR: {
    type: text('.data'),
    readBy: ['start', 'seed', 'verify'],
    says: 'Folder in which `npm start` keeps its database, secrets, mails and log; `seed`, `verify` and `doctor` use the database in it if DATABASE_URL is not set.',
  },
  REDIS_URL: {
    type: TEXT,
    isSecret: true,
    example: 'redis://127.0.0.1:6379',
    without: 'none: each `rest` process limits writes by itself',
    readBy: ['rest'],
    says: 'URL of the Redis server for the write limit. Several URLs, separated by commas, mean Redis Cluster.',
  },
  GRPC_TLS_CERT: {
    heading: 'Mutual TLS between the services (all three files, or none)',
    type: TEXT,
    without: 'none',
    readBy: GRPC,
    says: 'PEM file with the certificate of this program.',
  },
  GRPC_TLS_KEY: {
    type: TEXT,
    without: 'none',
    readBy: GRPC,
    says: 'PEM file with the private key of this program, not encrypted.',
  },
  GRPC_TLS_CA: {
    type: TEXT,
    without: 'none',
    readBy: GRPC,
    says: 'PEM file with the certificate of the authority that signs the certificates of all programs. It can contain several.',
  },
  GATEWAY: {
    heading: 'Processes',
    type: onOrOff('on'),
    readBy: ['start'],
    says: '`off` leaves the gateway out of `npm start`.',
  },
  SHUTDOWN_TIMEOUT_MS: {
    type: wholeNumber(10_000, 0, 600_000),
    readBy: SERVICES,
    says: 'Longest time for a clean shutdown, in milliseconds.',
  },
  DRAIN_MS: {
    type: wholeNumber(0, 0, 600_000),
    readBy: SERVICES,
    says: 'Milliseconds for which rest, gateway and reminders still accept HTTP connections after the signal to stop. During this time, /ready answers 503, so a load balancer can stop sending requests. A value below 250 counts as 250 while clients are connected. The largest value is SHUTDOWN_TIMEOUT_MS minus 5,000; if that is negative, 0. Accounts and scheduling only check the value.',
  },
} as const satisfies Record<string, Variable>;

type Table = typeof VARIABLES;
export type VariableName = keyof Table;
/** The names of the variables of a kind. */
export type Named<K extends Type['kind']> = {
  [N in VariableName]: Table[N]['type']['kind'] extends K ? N : never;
}[VariableName];

export const SECRETS = Object.entries<Variable>(VARIABLES)
  .filter(([, { isSecret }]) => isSecret)
  .map(([name]) => name);

/** What names of ours begin with and names of other programs do not. */
const PREFIXES = [...SERVICES.map((service) => `${service.toUpperCase()}_`), 'OIDC_', 'VAPID_', 'GRPC_TLS_'];
/** What Kubernetes sets in each container for its Services. */
const OF_SERVICE_LINK = /_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/;
const LINK_ADDRESS = /^(tcp|udp|sctp):\/\//;

/** Environment variables that look like ours and are not, each with the name that was probably meant if one is near. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
): [string, string | undefined][] {
  const known = [...Object.keys(VARIABLES), ...SECRETS.map((name) => `${name}_FILE`)];
  return Object.entries(environment).flatMap(([given, value = '']): [string, string | undefined][] => {
    if (known.includes(given) || OF_SERVICE_LINK.test(given) || LINK_ADDRESS.test(value)) return [];
    const nearest =
      known.find((name) => isSlipOf(name, given)) ?? known.find((name) => isVariantOf(name, given));
    const isNamedAsOurs = PREFIXES.some((prefix) => given.startsWith(prefix));
    return nearest === undefined && !isNamedAsOurs ? [] : [[given, nearest]];
  });
}

/**
 * Whether `given` is `name` in lower case, without its last words (WRITE_LIMIT), or with another ending of the last word (TRUSTED_PROXY).
 * Only for names of several words, since other programs also use single words.
 */
function isVariantOf(name: string, given: string): boolean {
  if (!given.includes('_')) return false;
  if (given.toUpperCase() === name || name.startsWith(`${given}_`)) return true;
  const [words, givenWords] = [name.split('_'), given.split('_')];
  const [last = '', givenLast = ''] = [words.pop(), givenWords.pop()];
  return words.join() === givenWords.join() && last.slice(0, 4) === givenLast.slice(0, 4) && last.length >= 4;
}

/** Whether one letter is wrong, missing or too many, or two neighbours are exchanged; short names differ for other reasons. */
function isSlipOf(name: string, given: string): boolean {
  if (Math.min(name.length, given.length) < 6 || Math.abs(name.length - given.length) > 1) return false;
  let start = 0;
  while (start < name.length && name[start] === given[start]) start += 1;
  const [wanted, found] = [name.slice(start), given.slice(start)];
  if (wanted.slice(1) === found.slice(1) || wanted.slice(1) === found || wanted === found.slice(1))
    return true;
  return wanted.slice(2) === found.slice(2) && wanted[0] === found[1] && wanted[1] === found[0];
}
