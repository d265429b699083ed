// The table of addresses that npm start prints.
import type { StartSettings } from './settings.ts';

type AddressFacts = {
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
export type AddressRow = readonly [string, string | 0 | undefined];

/** `baseUrl`: of the REST API, ends with /v1. */
export function toAddresses(facts: AddressFacts): { rows: AddressRow[]; baseUrl: string } {
  const { settings, gatewayPort, opsPort } = facts;
  const { rest, reminders } = settings;
  const url = (port: number) => `http://${reachable(rest.host)}:${port}`;
  const baseUrl = `${url(facts.restPort)}/v1`;
  const rows: AddressRow[] = [
    ['REST API', baseUrl],
    ['API docs', rest.docs ? `${url(facts.restPort)}/docs` : undefined],
    ['GraphQL', gatewayPort && `${url(gatewayPort)}/graphql`],
    ['GraphiQL', gatewayPort && `${url(gatewayPort)}/`],
    ['dashboard', gatewayPort && `${url(gatewayPort)}/dashboard`],
    ['gateway token', gatewayPort && whereTokenIs(settings, facts.token)],
    ['scheduling (gRPC)', facts.schedulingTarget],
    ['accounts (gRPC)', facts.accountsTarget],
    ['reminders (gRPC)', facts.remindersTarget],
    ['reminders’ links', reminders?.publicUrl],
    ['mails', reminders && whereMailsGo(reminders)],
    ['health, metrics', opsPort && `${opsUrl(settings, opsPort)}/ready, /metrics`],
    [
      'database',
      settings.databaseUrl === undefined ? `embedded PostgreSQL in ${settings.dataDir}` : 'DATABASE_URL',
    ],
    ['write limit', whereWritesCount(rest.redisUrl, facts.redisFault)],
    ['log', facts.logFile],
  ];
  return { rows, baseUrl };
}

function whereWritesCount(redisUrl: string | undefined, redisFault: string | undefined): string {
  if (redisUrl === undefined) return 'in this process';
  if (redisFault === undefined) return 'Redis';
  return `in this process, since the Redis of REDIS_URL does not answer (${redisFault}): start it, or correct REDIS_URL`;
}

function whereMailsGo({ mail }: NonNullable<StartSettings['reminders']>): string {
  return 'mailDir' in mail ? `as .eml files in ${mail.mailDir}` : 'by SMTP_URL';
}

/** Prints the token only on a terminal, since other output can be stored. */
function whereTokenIs({ gatewayTokenFile }: StartSettings, token: string): string {
  if (gatewayTokenFile === undefined) return 'from GATEWAY_TOKENS';
  return process.stdout.isTTY ? token : `in ${gatewayTokenFile}`;
}

function reachable(host: string): string {
  const local = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return local.includes(':') ? `[${local}]` : local;
}

function opsUrl({ watching }: StartSettings, port: number): string {
  return `http://${reachable(watching.ops?.host ?? '127.0.0.1')}:${port}`;
}
