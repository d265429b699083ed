// The audit log: who changed what. Independent of the log level; never contains a key, a title or content.
import { type DestinationStream, pino } from 'pino';
import { standardErrorLines } from './lines.ts';

export type AuditEntry = {
  /** The action, done or refused, such as "createApiKey". */
  action: string;
  /** The actor: a program, or a program and a token name. */
  caller: string;
  /** "ok", or the error code. */
  outcome: string;
  requestId: string;
  /** IDs of the affected user, material or key. */
  targets: Readonly<Record<string, string | readonly string[]>>;
};

export type Audit = (entry: AuditEntry) => void;

/**
 * `name` is the program's name. Lines go to `stream` as JSON with `"audit":true`; default: standard error. What they tell of is done,
 * so one that cannot be written fails nothing.
 */
export function createAudit(name: string, stream: DestinationStream = standardErrorLines()): Audit {
  const lines = pino({ name, level: 'info', base: { name, audit: true } }, stream);
  return ({ targets, ...entry }) => lines.info({ ...entry, ...targets });
}
