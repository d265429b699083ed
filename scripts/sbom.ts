// npm run sbom: prints the packages that are deployed, with versions, licences and hashes, as CycloneDX 1.5 in JSON.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand } from '../services/platform/process/command.ts';

type Component = { 'bom-ref': string; properties: { name: string }[] };
type Dependency = { ref: string; dependsOn: string[] };

const root = dirname(import.meta.dirname);
const HELP = `Prints the packages that are deployed, with versions, licences and hashes, as CycloneDX 1.5 in JSON.

  npm run sbom

Reads package-lock.json and node_modules. To keep it: npm run --silent sbom > sbom.json.
`;

await runCommand({ name: 'npm run sbom', help: HELP }, async () => {
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const flags = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const sbom = JSON.parse(execFileSync('npm', ['sbom', ...flags], options));

  const components: Component[] = sbom.components.filter(isDeployed);
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

/** With "--omit dev", npm 11 also omits packages that are deployed and are peers of development packages, such as graphql. */
function isDeployed({ properties }: Component): boolean {
  return properties.every((property) => property.name !== 'cdx:npm:package:development');
}
