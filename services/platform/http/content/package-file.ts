// Reads files that npm packages contain, whether or not they export them.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** `file`: relative to the package's folder. Throws if the package is not installed. */
export function readPackageFile(name: string, file: string): Buffer {
  const manifest = findPackageJSON(name, import.meta.url);
  if (manifest === undefined) throw new Error(`The package ${name} is not installed. Run "npm ci".`);
  return readFileSync(join(dirname(manifest), file));
}
