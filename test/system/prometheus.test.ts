// Debian's Prometheus reads the real services under load: its tool tests the alert rules, and it answers each query of the dashboard.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { type Deployment, startDeployment } from '../faults/support/deployment.ts';
import { type Load, startLoad } from '../faults/support/load.ts';
import { type Process, root, startProcess } from '../support/processes.ts';
import { type RedisServer, redisServerAvailable, startRedis } from '../support/redis.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { newSecret, type ServiceProcess, startService } from '../support/services.ts';

test('every alert has a severity, says what is felt, and names its own section of monitoring.md', () => {
  const alerts = rules.split('      - alert: ').slice(1);
  expect(alerts).toHaveLength(24);
  for (const alert of alerts) {
    const [name = ''] = alert.split('\n');
    expect(alert, name).toMatch(/severity: (page|ticket) \}/);
    expect(alert, name).toMatch(/ impact: ".+"/);
    expect(alert, name).toContain(` runbook_url: "{{ $externalLabels.runbooks }}#${name.toLowerCase()}"\n`);
    expect(runbooks, name).toContain(`\n### ${name}\n`);
  }
});

const operations = join(root, 'docs/operations');

describe.runIf(isInstalled())('Prometheus', () => {
  test('accepts the alert rules, and each fires when it should and not before', () => {
    const run = (...args: string[]) => execFileSync('promtool', args, { cwd: operations, encoding: 'utf8' });
    expect(run('check', 'rules', 'alerts.yml')).toContain('24 rules found');
    expect(run('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
    const tested = readFileSync(join(operations, 'alerts.test.yml'), 'utf8');
    for (const [, name] of rules.matchAll(/- alert: (\w+)/g))
      expect(tested.split(`alertname: ${name}\n`), name).toHaveLength(2);
  });

  describe('beside the real services', () => {
    let folder: string;
    let redis: RedisServer;
    let system: Deployment;
    let beside: ServiceProcess[] = [];
    let load: Load;
    let prometheus: Process;
    let origin: string;
    const token = newSecret();

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'srs-prometheus-'));
      redis = await startRedis();
      system = await startDeployment({
        replicas: { accounts: 1, scheduling: 1, rest: 1 },
        environment: { OPS_PORT: '0', REDIS_URL: redis.url },
      });
      const { accountsTarget, schedulingTarget, databaseUrl } = system;
      const peers = { OPS_PORT: '0', ACCOUNTS_URL: accountsTarget, SCHEDULING_URL: schedulingTarget };
      const reminders = await startService('reminders', {
        ...peers,
        DATABASE_URL: databaseUrl,
        REMINDERS_HTTP_PORT: '0',
        PUBLIC_URL: 'https://remind.example.com',
        MAIL_DIR: folder,
      });
      const gateway = await startService('gateway', {
        ...peers,
        REMINDERS_URL: reminders.target,
        GATEWAY_TOKENS: `olga:operator:${token}`,
      });
      beside = [reminders, gateway];
      const targets = [...system.accounts, ...system.scheduling, ...system.rest, ...beside].map(
        ({ ops }) => new URL(`${ops}`).host,
      );
      // JSON is YAML.
      writeFileSync(
        join(folder, 'prometheus.yml'),
        JSON.stringify({
          global: { scrape_interval: '1s' },
          scrape_configs: [{ job_name: 'srs', static_configs: [{ targets }] }],
        }),
      );
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      prometheus = startProcess('prometheus', [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ]);
      const { key, userId } = await system.createKey();
      let turn = 0;
      load = startLoad({
        origins: system.origins,
        workers: 1,
        pauseMs: 50,
        next: () => {
          turn += 1;
          // The end of the tests may cut them.
          if (turn % 10 === 0) void Promise.allSettled([queryGateway(), remind()]);
          if (turn % 3 === 0)
            return { method: 'POST', path: '/materials', key, json: { title: `T ${turn}` } };
          return { method: 'GET', path: turn % 2 === 0 ? '/me' : '/reviews/due', key };
        },
      });
      const queryGateway = async () => {
        const response = await fetch(`${gateway.origin}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ query: `{ user(id: "${userId}") { firstName } }` }),
        });
        await response.text();
      };
      const client = connectReminders(reminders.target);
      // Of a user of its own: only a few are accepted of one.
      const remind = async () => {
        const { user } = await system.clients.users.createUser(
          { email: `${newSecret().slice(0, 16)}@example.com` },
          { requestId: 'test' },
        );
        const request = { userId: user?.userId ?? '', channel: 'CHANNEL_EMAIL' } as const;
        await client.sendTestReminder(request, { requestId: 'test' });
      };
    });
    afterAll(async () => {
      await load?.stop();
      await prometheus?.end();
      await Promise.all(beside.map((service) => service.kill()));
      await system?.stop();
      await redis?.stop();
      rmSync(folder, { recursive: true });
    });

    type Panel = { title: string; type: string; targets?: { expr: string }[] };
    const { panels } = JSON.parse(readFileSync(join(operations, 'grafana.json'), 'utf8')) as {
      panels: Panel[];
    };
    const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

    test.each(queries)('answers "$title"', async ({ expr }) => {
      const query = expr.replaceAll('$__rate_interval', '1m');
      await expect
        .poll(
          async () => {
            const response = await fetch(`${origin}/api/v1/query?${new URLSearchParams({ query })}`);
            const { status, data } = (await response.json()) as {
              status: string;
              data?: { result: { value: [number, string] }[] };
            };
            expect(status).toBe('success');
            return data?.result.some(({ value: [, value] }) => Number.isFinite(Number(value)));
          },
          { timeout: 40_000, interval: 500 },
        )
        .toBe(true);
    });

    test('has a panel for each of the questions that begin an investigation', () => {
      const titles = panels.map(({ title }) => title).join('\n');
      for (const word of [
        'by route',
        'by rpc',
        'errors',
        'duration',
        'pool',
        'write limit',
        'Lag by channel',
      ])
        expect(titles).toContain(word);
    });
  });
});

const rules = readFileSync(join(operations, 'alerts.yml'), 'utf8');
const runbooks = readFileSync(join(operations, 'monitoring.md'), 'utf8');

function isInstalled(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return redisServerAvailable();
  } catch {
    process.stderr.write(
      'The tests of alerts and dashboard are skipped: install prometheus and redis-server.\n',
    );
    return false;
  }
}
