// Gives a running PostgreSQL a certificate for localhost, by its own hand: its files are another account's.
import { chmodSync, readFileSync } from 'node:fs';
import type { Client } from 'pg';
import type { Certificates } from '../../support/certificates.ts';

/** New connections can use TLS soon after it resolves. */
export async function turnTlsOn(server: Client, { environment }: Certificates): Promise<void> {
  const { rows } = await server.query<{ folder: string }>(
    "SELECT current_setting('data_directory') AS folder",
  );
  for (const [setting, name, path] of [
    ['ssl_cert_file', 'server.crt', environment.GRPC_TLS_CERT],
    ['ssl_key_file', 'server.key', environment.GRPC_TLS_KEY],
  ] as const) {
    const lines = server.escapeLiteral(readFileSync(path, 'utf8').trim());
    const target = `${rows[0]?.folder}/${name}`;
    await server.query(
      `COPY (SELECT unnest(string_to_array(${lines}, chr(10)))) TO ${server.escapeLiteral(target)}`,
    );
    chmodSync(target, 0o600);
    await server.query(`ALTER SYSTEM SET ${setting} = '${name}'`);
  }
  await server.query('ALTER SYSTEM SET ssl = on');
  await server.query('SELECT pg_reload_conf()');
}
