// npm run openapi: writes docs/openapi.json, the document that a facade serves.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createLogger } from '../services/platform/logging/logger.ts';
import { createTelemetry } from '../services/platform/observability/telemetry.ts';
import { runCommand } from '../services/platform/process/command.ts';
import { buildApp } from '../services/rest/app.ts';
import { createClients } from '../services/rest/clients.ts';

const root = dirname(import.meta.dirname);
const DOCUMENT = 'docs/openapi.json';

const unused = () => Promise.reject(new Error('only /openapi.json is asked for'));
const HELP = `Writes ${DOCUMENT}, the document that a facade serves.

  npm run openapi

Needs no service and no database. npm run generate makes the client's types of it.
`;

await runCommand({ name: 'npm run openapi', help: HELP }, async () => {
  const clients = createClients({
    schedulingTarget: '127.0.0.1:1',
    accountsTarget: '127.0.0.1:1',
    trust: { serviceTokens: [], tls: undefined },
  });
  const app = await buildApp({
    clients,
    keyRequests: { add() {}, close: unused },
    verifier: { verify: unused, isStreamAlive: () => false, close() {} },
    limiter: { take: unused, check: unused, mode: () => 'process', close() {} },
    logger: createLogger('openapi', 'silent'),
    docs: true,
    corsOrigins: new Set(),
    telemetry: createTelemetry(),
  });
  await app.ready();
  const document = JSON.stringify(app.swagger());
  await app.close();
  clients.close();
  writeFileSync(join(root, DOCUMENT), document);
  execFileSync(join(root, 'node_modules/.bin/biome'), ['format', '--write', DOCUMENT], { cwd: root });
  process.stdout.write(`Wrote ${DOCUMENT}.\n`);
});
