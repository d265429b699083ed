// Checks the manifests for Kubernetes against its published types: names, values, and that they say what the code does.
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../support/processes.ts';

beforeAll(prepare);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the manifests', () => {
  test('have only fields and values that Kubernetes knows', async () => {
    expect(Object.groupBy(manifests, ({ kind }) => kind)).toMatchObject({
      CronJob: { length: 1 },
      Deployment: { length: 5 },
      HorizontalPodAutoscaler: { length: 2 },
      Job: { length: 1 },
      NetworkPolicy: { length: 6 },
      PersistentVolumeClaim: { length: 1 },
      PodDisruptionBudget: { length: 5 },
      Service: { length: 6 },
    });
    expect(errorsOf(manifests)).toBe('');
    for (const manifest of manifests) {
      const models = await import(/* @vite-ignore */ `kubernetes-models/${manifest.apiVersion}`);
      expect(() => new models[manifest.kind](manifest).validate(), manifest.metadata.name).not.toThrow();
    }
  });

  test('would be refused with a misspelt field', () => {
    const wrong = structuredClone(named('Deployment', 'rest'));
    wrong.spec.template.spec.containers[0].readynessProbe = {};
    expect(errorsOf([wrong])).toContain(`'"readynessProbe"' does not exist in type 'IContainer'`);
  });

  test('are all listed by their kustomization, and no other', () => {
    for (const name of ['base', 'gateway', 'reminders', 'backup', 'two']) {
      const { resources } = parse(readFileSync(join(kubernetes, name, 'kustomization.yaml'), 'utf8'));
      const listed = resources.filter((resource: string) => !resource.startsWith('../'));
      expect(listed.toSorted()).toEqual(
        files
          .filter((file) => file.startsWith(`${name}/`))
          .map((file) => basename(file))
          .toSorted(),
      );
    }
  });

  test('give each Pod time to drain: preStop and SHUTDOWN_TIMEOUT_MS fit into its grace', () => {
    for (const { metadata, spec } of ofKind('Deployment')) {
      const [container] = spec.template.spec.containers;
      const [, preStopSeconds] = container.lifecycle.preStop.exec.command;
      // The default of SHUTDOWN_TIMEOUT_MS is 10 s.
      expect(Number(preStopSeconds) + 10, metadata.name).toBeLessThan(
        spec.template.spec.terminationGracePeriodSeconds,
      );
      // A node's kube-proxy and callers' DNS have this long to notice; readiness is asked less often.
      expect(Number(preStopSeconds)).toBeGreaterThan(container.readinessProbe.periodSeconds);
      expect([container.livenessProbe.httpGet.path, container.readinessProbe.httpGet.path]).toEqual([
        '/live',
        '/ready',
      ]);
    }
  });

  test('run the programs that docker-compose runs, with secrets from files and nothing writable but /tmp', () => {
    const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
    for (const { kind, metadata, spec } of [...ofKind('Deployment'), ...ofKind('Job')]) {
      const { containers, volumes, enableServiceLinks } = spec.template.spec;
      const [container] = containers;
      const service = compose.services[metadata.name];
      expect(container.command).toEqual(service.command);
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(enableServiceLinks, kind).toBe(false);
      const mounted = volumes[0].secret.items.map(({ key }: { key: string }) => key);
      const named = container.env
        .filter(({ name }: { name: string }) => name.endsWith('_FILE'))
        .map(({ value }: { value: string }) => basename(value));
      expect(mounted.toSorted()).toEqual(named.toSorted());
      expect(service.secrets).toEqual(expect.arrayContaining(named));
      expect(JSON.stringify(container.env)).not.toMatch(
        /"(SERVICE_TOKEN|DATABASE_URL|KEY_PEPPER|REDIS_URL|GATEWAY_TOKENS|SMTP_URL|VAPID_KEYS)"/,
      );
    }
  });

  test('back up each night with the script and the image of docker-compose, one at a time', () => {
    const { backup } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
      merge: true,
    }).services;
    const { concurrencyPolicy, jobTemplate } = named('CronJob', 'backup').spec;
    const { containers, volumes } = jobTemplate.spec.template.spec;
    expect(concurrencyPolicy).toBe('Forbid');
    expect(containers[0].image).toBe(backup.image);
    expect(containers[0].command).toEqual(['/scripts/backup']);
    expect(containers[0].securityContext.readOnlyRootFilesystem).toBe(true);
    expect(volumes[0].secret.items.map(({ key }: { key: string }) => key)).toEqual(backup.secrets);
  });

  test('let callers find every replica of the gRPC services, which a headless Service names', () => {
    for (const name of ['accounts', 'scheduling', 'reminders'])
      expect(named('Service', name).spec).toMatchObject({
        clusterIP: 'None',
        selector: { 'app.kubernetes.io/name': name },
      });
    for (const name of ['rest', 'gateway', 'reminders-links'])
      expect(named('Service', name).spec.clusterIP).toBeUndefined();
  });

  test('leave the number of Pods to the autoscaler where there is one, which an upgrade would undo', () => {
    const scaled = ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name);
    expect(scaled).toEqual(['rest', 'scheduling']);
    for (const { metadata, spec } of ofKind('Deployment'))
      expect('replicas' in spec, metadata.name).toBe(!scaled.includes(metadata.name));
    const { replicas } = parse(readFileSync(join(kubernetes, 'two/kustomization.yaml'), 'utf8'));
    expect(replicas.map(({ name }: { name: string }) => name)).toEqual(['accounts', 'gateway', 'reminders']);
  });

  test('never let an eviction end the last replica', () => {
    expect(
      ofKind('PodDisruptionBudget').map(({ metadata, spec }) => [metadata.name, spec.minAvailable]),
    ).toEqual([
      ['accounts', 1],
      ['scheduling', 1],
      ['rest', 1],
      ['gateway', 1],
      ['reminders', 1],
    ]);
  });
});

function hasKustomize(): boolean {
  try {
    return /Kustomize Version: v[5-9]/.test(
      execFileSync('kubectl', ['version', '--client'], { encoding: 'utf8' }),
    );
  } catch {
    return false;
  }
}

test.runIf(hasKustomize())('kustomize builds two of each, or lets the autoscaler', () => {
  const built = manifestsOf(
    execFileSync('kubectl', ['kustomize', join(kubernetes, 'two')], { encoding: 'utf8' }),
  );
  expect(built).toHaveLength(manifests.length);
  expect(errorsOf(built)).toBe('');
  const deployments = built.filter(({ kind }) => kind === 'Deployment');
  expect(deployments.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([
    ['accounts', 2],
    ['gateway', 2],
    ['reminders', 2],
    ['rest', undefined],
    ['scheduling', undefined],
  ]);
  expect(new Set(built.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['spaced-repetition']));
});

const kubernetes = join(root, 'deploy/kubernetes');
const files = globSync('*/*.yaml', { cwd: kubernetes }).filter(
  (file) => !file.endsWith('kustomization.yaml'),
);
const manifests = files.flatMap((file) => manifestsOf(readFileSync(join(kubernetes, file), 'utf8')));

let folder: string;

function prepare(): void {
  folder = mkdtempSync(join(tmpdir(), 'srs-kubernetes-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
}

/** The compiler's errors on `list`: of a field that does not exist, too. */
function errorsOf(list: readonly Manifest[]): string {
  const lines = list.flatMap((manifest, index) => [
    `import type { I${manifest.kind} as Type${index} } from 'kubernetes-models/${manifest.apiVersion}';`,
    `export const manifest${index}: Type${index} = ${JSON.stringify(manifest)};`,
  ]);
  writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024'];
  const tsc = join(root, 'node_modules/.bin/tsc');
  return spawnSync(tsc, [...flags, '--types', '', 'manifests.ts'], { cwd: folder, encoding: 'utf8' }).stdout;
}

// biome-ignore lint/suspicious/noExplicitAny: the types are what is checked
type Manifest = any;
function manifestsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}

const ofKind = (kind: string): Manifest[] => manifests.filter((manifest) => manifest.kind === kind);
const named = (kind: string, name: string): Manifest =>
  ofKind(kind).find(({ metadata }) => metadata.name === name);
