// Lines of the audit: who did what to whom. Written whatever the log level is, and never with a key, a title or a content.
import { destination, pino } from 'pino';

export type AuditEntry = {
  /** What was done or tried, such as "createApiKey". */
  action: string;
  /** Who: a program, or a program and the name of a token. */
  caller: string;
  /** "ok", or the code of the error that it was refused with. */
  outcome: string;
  requestId: string;
  /** Ids of what it was done to: user, material, key. */
  targets: Readonly<Record<string, string | readonly string[]>>;
};

export type Audit = (entry: AuditEntry) => void;

/** `name` is the program's name. Lines go to standard error as JSON with `"audit":true`, each written before going on. */
export function createAudit(name: string): Audit {
  const lines = pino(
    { name, level: 'info', base: { name, audit: true } },
    destination({ fd: 2, sync: true }),
  );
  return ({ targets, ...entry }) => lines.info({ ...entry, ...targets });
}
