// What npm start prints for people once all runs: addresses, the first key, and what to do next.
import { SCOPES } from '../../accounts/keys/rules.ts';
import { VARIABLES } from '../../platform/process/variables.ts';
import { areLinksLocal } from '../../reminders/config.ts';
import { DEFAULT_DATA_DIR } from '../program-database.ts';
import type { StartSettings } from './settings.ts';

export const DEMO_EMAIL = 'demo@example.com';

type ScreenContent = {
  rows: readonly AddressRow[];
  /** Of the REST API, ends with /v1. */
  baseUrl: string;
  /** Of the demo user, made by this start. */
  key: string | undefined;
  accountsPort: number;
  hasGateway: boolean;
  /** undefined: the database is DATABASE_URL. */
  dataDir: string | undefined;
};

/** Ends with the line "Ready. Press Ctrl-C to stop." */
export function toScreen(content: ScreenContent): string {
  const table = content.rows.flatMap(([name, value]) => (!value ? [] : `  ${name.padEnd(18)} ${value}`));
  return [
    '',
    ...table,
    '',
    ...firstKey(content),
    'Next, in another terminal:',
    ...nextSteps(content),
    '',
    'Ready. Press Ctrl-C to stop.',
    '',
  ].join('\n');
}

function firstKey({ key, baseUrl }: ScreenContent): string[] {
  if (key === undefined) return [];
  return [
    `First run: created the user ${DEMO_EMAIL} with this API key, which is shown only once:`,
    `  ${key}`,
    'Try it:',
    `  curl -H "Authorization: Bearer ${key}" ${baseUrl}/me`,
    '',
  ];
}

/** Commands that work as they are pasted, in this folder. */
function nextSteps({ key, accountsPort, hasGateway, dataDir }: ScreenContent): string[] {
  const port = accountsPort === VARIABLES.ACCOUNTS_PORT.type.default ? '' : `ACCOUNTS_PORT=${accountsPort} `;
  const email = dataDir === undefined ? 'you@example.com' : DEMO_EMAIL;
  const seed =
    dataDir === undefined || !hasGateway
      ? []
      : [
          '  Learners to look at in the dashboard:',
          `    ${dataDir === DEFAULT_DATA_DIR ? '' : `DATA_DIR='${dataDir.replaceAll("'", `'\\''`)}' `}npm run seed`,
        ];
  return [
    ...seed,
    key === undefined ? '  An API key (keys of earlier runs stay valid):' : '  Another API key:',
    `    ${port}npm run keys -- create --email ${email} --scopes ${SCOPES.join(',')}`,
  ];
}

type AddressSource = {
  settings: StartSettings;
  /** Of the gateway. */
  token: string;
  restPort: number;
  redisFault: string | undefined;
  gatewayPort: number | undefined;
  opsPort: number | undefined;
  schedulingTarget: string;
  accountsTarget: string;
  remindersTarget: string | undefined;
  /** undefined: standard error. */
  logFile: string | undefined;
};

/** Name and value; a row without a value is left out. */
type AddressRow = readonly [string, string | 0 | undefined];

/** `baseUrl`: of the REST API, ends with /v1. */
export function toAddresses(source: AddressSource): { rows: AddressRow[]; baseUrl: string } {
  const { settings, gatewayPort, opsPort } = source;
  const { rest, reminders } = settings;
  const url = (port: number) => `http://${reachable(rest.host)}:${port}`;
  const baseUrl = `${url(source.restPort)}/v1`;
  const rows: AddressRow[] = [
    ['REST API', baseUrl],
    ['API docs', rest.docs ? `${url(source.restPort)}/docs` : undefined],
    ['GraphQL', gatewayPort && `${url(gatewayPort)}/graphql`],
    ['GraphiQL', gatewayPort && `${url(gatewayPort)}/`],
    ['dashboard', gatewayPort && `${url(gatewayPort)}/dashboard`],
    ['gateway token', gatewayPort && whereTokenIs(settings, source.token)],
    ['scheduling (gRPC)', source.schedulingTarget],
    ['accounts (gRPC)', source.accountsTarget],
    ['reminders (gRPC)', source.remindersTarget],
    ['reminders’ links', reminders && whereLinksLead(reminders)],
    ['mails', reminders && whereMailsGo(reminders)],
    ['health, metrics', opsPort && `${opsUrl(settings, opsPort)}/ready, /metrics`],
    [
      'database',
      settings.databaseUrl === undefined ? `embedded PostgreSQL in ${settings.dataDir}` : 'DATABASE_URL',
    ],
    ['write limit', whereWritesCount(rest.redisUrl, source.redisFault)],
    ['log', source.logFile],
  ];
  return { rows, baseUrl };
}

function whereWritesCount(redisUrl: string | undefined, redisFault: string | undefined): string {
  if (redisUrl === undefined) return 'in this process';
  if (redisFault === undefined) return 'Redis';
  return `in this process, since the Redis of REDIS_URL does not answer (${redisFault}): start it, or correct REDIS_URL`;
}

function whereLinksLead(reminders: NonNullable<StartSettings['reminders']>): string {
  const { publicUrl } = reminders;
  return areLinksLocal(reminders) ? `${publicUrl}, which learners cannot open: set PUBLIC_URL` : publicUrl;
}

function whereMailsGo({ mail }: NonNullable<StartSettings['reminders']>): string {
  return 'mailDir' in mail ? `as .eml files in ${mail.mailDir}` : 'by SMTP_URL';
}

/** Prints the token only on a terminal, since other output can be stored. */
function whereTokenIs({ gatewayTokenFile }: StartSettings, token: string): string {
  if (gatewayTokenFile === undefined) return 'from GATEWAY_TOKENS';
  return process.stdout.isTTY ? token : `in ${gatewayTokenFile}`;
}

/** Where programs of this machine reach what listens on `host`, as URLs have it. */
export function reachable(host: string): string {
  const local = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return local.includes(':') ? `[${local}]` : local;
}

function opsUrl({ watching }: StartSettings, port: number): string {
  return `http://${reachable(watching.ops?.host ?? '127.0.0.1')}:${port}`;
}
