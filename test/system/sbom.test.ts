// npm run sbom against package.json and the lock file.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { root } from '../support/processes.ts';

test('the bill of materials has every package that is deployed, with its hash, and no development package', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const sbom = JSON.parse(stdout);
  expect([sbom.bomFormat, sbom.specVersion]).toEqual(['CycloneDX', '1.5']);
  expect(sbom.metadata.component).toMatchObject({ type: 'application', name, version });
  const components: Component[] = sbom.components;
  const refs = new Set(components.map((component) => `${component.name}@${component.version}`));
  for (const [dependency, exact] of Object.entries(dependencies))
    expect(refs.has(`${dependency}@${exact}`), dependency).toBe(true);
  // A development package can also be a dependency of one that is deployed.
  const isDevelopment = ([dependency]: [string, unknown]) =>
    packages[`node_modules/${dependency}`].dev === true;
  const development = Object.entries(devDependencies).filter(isDevelopment);
  expect(development.length).toBeGreaterThan(10);
  for (const [dependency, exact] of development)
    expect(refs.has(`${dependency}@${exact}`), dependency).toBe(false);
  for (const { name: component, purl, hashes } of components) {
    expect(purl, component).toMatch(/^pkg:npm\/.+@.+/);
    expect(
      hashes?.map(({ alg }) => alg),
      component,
    ).toEqual(['SHA-512']);
  }
  refs.add(`${name}@${version}`);
  for (const { ref, dependsOn } of sbom.dependencies)
    for (const each of [ref, ...dependsOn]) expect(refs.has(each), each).toBe(true);
});

test('it can be made where only packages that are deployed are installed, and has these', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-sbom-'));
  for (const part of ['scripts', 'services', 'package.json', 'package-lock.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const installed of ['fastify', '@fastify/cors'])
    mkdirSync(join(folder, 'node_modules', installed), { recursive: true });
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/sbom.ts'], { cwd: folder });
    const { components } = JSON.parse(stdout);
    expect(components.map((component: Component) => component.name).toSorted()).toEqual([
      '@fastify/cors',
      'fastify',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const { name, version, dependencies, devDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

type Component = { name: string; version: string; purl: string; hashes?: { alg: string }[] };
