// npm run sbom: prints the packages that are deployed, with versions, licences and hashes, as CycloneDX 1.5 in JSON.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand } from '../services/platform/process/command.ts';

type Component = { 'bom-ref': string; name: string; version: string; properties: { name: string }[] };
type Dependency = { ref: string; dependsOn: string[] };

const root = dirname(import.meta.dirname);
const readJson = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const HELP = `Prints the packages that are deployed, with versions, licences and hashes, as CycloneDX 1.5 in JSON.

  npm run sbom

Reads package-lock.json and node_modules. To keep it: npm run --silent sbom > sbom.json.
`;

await runCommand({ name: 'npm run sbom', help: HELP }, async () => {
  const { name, version } = readJson('package.json');
  // From node_modules, npm makes none if packages for development are missing.
  const flags = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const sbom = JSON.parse(execFileSync('npm', ['sbom', ...flags], options));

  const installed = installedPackages();
  const components: Component[] = sbom.components.filter(
    (component: Component) =>
      isDeployed(component) && installed.has(`${component.name}@${component.version}`),
  );
  const refs = new Set(components.map((component) => component['bom-ref']));

  // npm names the project after its folder.
  const { 'bom-ref': folderRef } = sbom.metadata.component;
  const ref = `${name}@${version}`;
  Object.assign(sbom.metadata.component, { 'bom-ref': ref, name, purl: `pkg:npm/${ref}` });
  const dependencies = sbom.dependencies
    .filter((dependency: Dependency) => dependency.ref === folderRef || refs.has(dependency.ref))
    .map((dependency: Dependency) => ({
      ref: dependency.ref === folderRef ? ref : dependency.ref,
      dependsOn: dependency.dependsOn.filter((each) => refs.has(each)),
    }));

  process.stdout.write(`${JSON.stringify({ ...sbom, components, dependencies }, null, 2)}\n`);
});

/** As name@version. Optional packages of other platforms are not installed. */
function installedPackages(): Set<string> {
  const packages: Record<string, { version: string }> = readJson('package-lock.json').packages;
  return new Set(
    Object.entries(packages)
      .filter(([path]) => existsSync(join(root, path)))
      .map(([path, each]) => `${path.split('node_modules/').at(-1)}@${each.version}`),
  );
}

/** With "--omit dev", npm 11 also omits packages that are deployed and are peers of development packages, such as graphql. */
function isDeployed({ properties }: Component): boolean {
  return properties.every((property) => property.name !== 'cdx:npm:package:development');
}
