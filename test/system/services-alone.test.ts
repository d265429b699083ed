// Each service by its npm script, as its own deployment would run it, and what it refuses to start with.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Environment, root, startProcess } from '../support/processes.ts';
import { argumentsOf, portIn } from '../support/services.ts';
import { openShell } from '../support/shell.ts';

test('each service starts as the README shows, with the first line filled in, and stops by its command', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, block = ''] = /```sh\n(export DATABASE_URL=[\s\S]*?)```/.exec(readme) ?? [];
  expect(readme).toContain('`kill $(jobs -p)` stops them.');
  const ports = {
    ACCOUNTS_PORT: 0,
    SCHEDULING_PORT: 0,
    REST_PORT: 0,
    GRAPHQL_PORT: 0,
    REMINDERS_PORT: 0,
    REMINDERS_HTTP_PORT: 0,
  };
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort();
  const own = await createTestDatabase();
  const { PATH, HOME } = process.env;
  const given = Object.entries(ports).map(([name, port]) => [name, `${port}`]);
  const shell = openShell({ PATH, HOME, ...Object.fromEntries(given) });
  try {
    await shell.run(block.replace(/DATABASE_URL=.*/, `DATABASE_URL='${own.databaseUrl}'`));
    const names = ['accounts', 'scheduling', 'reminders', 'rest', 'gateway'] as const;
    const isReady = (output: string) => names.every((name) => portIn(output, name)) || undefined;
    await shell.says(isReady);
    const made = await shell.run('npm run --silent keys -- create --email a@example.com --json');
    const api = createApi(`http://127.0.0.1:${ports.REST_PORT}/v1`, JSON.parse(made).key);
    await expect.poll(async () => (await api.get('/reviews/due')).status).toBe(200);
    const gateway = `http://127.0.0.1:${ports.GRAPHQL_PORT}`;
    expect((await fetch(`${gateway}/dashboard`)).status).toBe(200);
    const askForReminders =
      `curl -s -H "Authorization: Bearer \${GATEWAY_TOKENS##*:}" -H 'Content-Type: application/json' ${gateway}/graphql ` +
      `-d '{"query":"{ user(email: \\"a@example.com\\") { reminders { id } } }"}'`;
    await expect
      .poll(async () => JSON.parse(await shell.run(askForReminders)))
      .toEqual({ data: { user: { reminders: [] } } });
    await shell.run('kill $(jobs -p); wait');
    await expect(fetch(`http://127.0.0.1:${ports.REST_PORT}/v1/me`)).rejects.toThrow('fetch failed');
  } finally {
    await shell.end();
    await own.drop();
  }
});

test('a service names the files of TLS that are unusable, and a port that it is to use twice', async () => {
  const licence = join(root, 'LICENSE');
  const tls = { GRPC_TLS_CERT: licence, GRPC_TLS_KEY: licence, GRPC_TLS_CA: licence };
  const said = await fail('rest', { ...tls, REST_PORT: '0' });
  expect(said).toMatch(/GRPC_TLS_CERT and GRPC_TLS_KEY must be a PEM certificate and its unencrypted key/);
  expect(said).toMatch(/GRPC_TLS_CA must be one or more PEM certificates/);
  const port = `${await freePort()}`;
  expect(await fail('rest', { REST_PORT: port, OPS_PORT: port })).toBe(
    `The configuration is not usable:\n  - REST_PORT and OPS_PORT are both ${port}: set one of them to another port\n`,
  );
});

/** What a service that does not start writes to standard error. */
async function fail(name: string, env: Environment): Promise<string> {
  const program = startProcess(process.execPath, argumentsOf(name), { env });
  expect([await program.ended, program.stdout()]).toEqual([1, '']);
  return program.output();
}
