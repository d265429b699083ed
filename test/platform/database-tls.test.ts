// TLS to PostgreSQL, as docs/operations/database.md says of sslmode.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../services/embedded-postgres/embedded-postgres.ts';
import { withConnection } from '../../services/platform/postgres/connection.ts';
import { turnTlsOn } from '../faults/support/postgres-tls.ts';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { makePostgresFolder } from '../support/postgres-folder.ts';

const { directory, remove } = makePostgresFolder('srs-database-tls-');
let server: EmbeddedPostgres;
let certificates: Certificates;

beforeAll(async () => {
  certificates = makeCertificates({ names: 'DNS:localhost' });
  server = await startEmbeddedPostgres({ directory, durable: false });
  await withConnection({ connectionString: server.databaseUrl }, (client) => turnTlsOn(client, certificates));
  while ((await connect('localhost', 'sslmode=no-verify')) !== 'encrypted') await sleep(50);
});
afterAll(async () => {
  await server.stop();
  certificates.remove();
  remove();
});

const MISTRUSTED = 'unable to verify the first certificate';
const OF_ANOTHER = "Hostname/IP does not match certificate's altnames";

test.each([
  ['', 'open', 'open'],
  ['sslmode=no-verify', 'encrypted', 'encrypted'],
  ['sslmode=verify-full', MISTRUSTED, MISTRUSTED],
  ['sslmode=require', MISTRUSTED, MISTRUSTED],
  ['sslmode=verify-full&sslrootcert=CA', 'encrypted', OF_ANOTHER],
  ['sslmode=require&sslrootcert=CA', 'encrypted', OF_ANOTHER],
  ['sslmode=verify-ca&sslrootcert=CA', 'encrypted', OF_ANOTHER],
  ['uselibpqcompat=true&sslmode=verify-ca&sslrootcert=CA', 'encrypted', 'encrypted'],
])(
  'a connection with "%s" to the host of the certificate is: %s; to another: %s',
  async (parameters, ofHost, ofOther) => {
    expect(await connect('localhost', parameters)).toContain(ofHost);
    expect(await connect('127.0.0.1', parameters)).toContain(ofOther);
  },
);

/** How the connection is, or why there is none. */
async function connect(host: string, parameters: string): Promise<string> {
  const url = new URL(server.databaseUrl);
  url.hostname = host;
  url.search = parameters.replace('CA', encodeURIComponent(certificates.environment.GRPC_TLS_CA));
  return withConnection({ connectionString: url.href }, async (client) => {
    const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    return rows[0].ssl ? 'encrypted' : 'open';
  }).catch((error: unknown) => `${error instanceof Error ? error.message : error}`);
}
