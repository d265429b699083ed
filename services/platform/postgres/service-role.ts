// The role of the services: it reads and writes rows, and cannot change the schema, which belongs to the role that migrates.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { errorCode } from '../thrown.ts';
import { withConnection } from './connection.ts';

const ITERATIONS = 4096;

/**
 * Gives the role of `serviceUrl` what a service needs in `schemas`, now and for what is created later, also where PUBLIC has no
 * rights. If it cannot log in, the role is created, or its password changed. @throws Error that says what to do if the owner may not do that.
 */
export async function grantServiceRole(
  owner: Client,
  { serviceUrl, schemas }: { serviceUrl: string; schemas: readonly string[] },
): Promise<void> {
  const { user = '', password = null } = new Client({ connectionString: serviceUrl });
  const role = escapeIdentifier(user);
  if (user === owner.user) {
    throw new Error(
      'SERVICE_DATABASE_URL and DATABASE_URL name the same role: the services need one of their own',
    );
  }
  const { rowCount } = await owner.query('SELECT FROM pg_roles WHERE rolname = $1', [user]);
  if (rowCount === 0) await setPassword(owner, 'CREATE', user, password);
  await owner.query(`GRANT CONNECT ON DATABASE ${escapeIdentifier(owner.database ?? '')} TO ${role}`);
  if (rowCount !== 0 && !(await canLogIn(serviceUrl))) await setPassword(owner, 'ALTER', user, password);
  for (const schema of schemas) {
    await owner.query(`
      GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role};
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${role};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE ON SEQUENCES TO ${role};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT EXECUTE ON FUNCTIONS TO ${role};
      REVOKE INSERT, UPDATE, DELETE ON ${schema}.schema_migrations FROM ${role};
    `);
  }
}

/** @throws Error if the server does not answer. */
async function canLogIn(connectionString: string): Promise<boolean> {
  try {
    return await withConnection({ connectionString, application_name: 'migrate' }, async () => true);
  } catch (error) {
    // 28000 and 28P01: it may not log in, or has another password.
    if (errorCode(error).startsWith('28')) return false;
    throw error;
  }
}

async function setPassword(
  owner: Client,
  verb: 'CREATE' | 'ALTER',
  user: string,
  password: string | null,
): Promise<void> {
  const role = escapeIdentifier(user);
  const secret = password === null ? '' : ` PASSWORD ${escapeLiteral(scramVerifier(password))}`;
  try {
    await owner.query(`${verb} ROLE ${role} LOGIN${secret}`);
  } catch (error) {
    throw new Error(
      `the role of SERVICE_DATABASE_URL cannot log in, and the role of DATABASE_URL may not change that. ` +
        `As an administrator, run: CREATE ROLE ${role} LOGIN PASSWORD '...'`,
      { cause: error },
    );
  }
}

/** What PostgreSQL stores for a password (RFC 5803), so that no statement, and no log of statements, contains the password. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`;
}
