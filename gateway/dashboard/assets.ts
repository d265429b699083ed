// The dashboard's files, read at start, under paths with a content hash.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Asset, digestOf, fileAsset } from '../../services/platform/http/content/asset.ts';
import { readPackageFile } from '../../services/platform/http/content/package-file.ts';

const ASSETS = '{{assets}}';
const PRELOADS = '{{preloads}}';

/** The HTML page, and all other files by path. */
export function loadAssets(): { page: Asset; files: ReadonlyMap<string, Asset> } {
  const folder = join(import.meta.dirname, 'page');
  const names = globSync('**/*.{js,css}', { cwd: folder }).toSorted();
  const contents = new Map<string, Buffer>(names.map((name) => [name, readFileSync(join(folder, name))]));
  contents.set('chart.js', readChartLibrary());
  const all = [...contents].map(([name, content]) => `${name} ${digestOf(content)}`).join('\n');
  const base = `/dashboard/${digestOf(Buffer.from(all))}`;
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
    .replace(PRELOADS, names.filter(isModule).map(preload).join('\n  '))
    .replaceAll(ASSETS, base);
  return {
    page: fileAsset('index.html', Buffer.from(html)),
    files: new Map([...contents].map(([name, content]) => [`${base}/${name}`, fileAsset(name, content)])),
  };
}

function readChartLibrary(): Buffer {
  const text = readPackageFile('chart.js', 'dist/chart.umd.min.js').toString();
  // The source map named in the last line is not served.
  return Buffer.from(text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
}

const isModule = (name: string) => name.endsWith('.js');

/** Preload links, since the browser otherwise discovers modules one import level at a time. */
function preload(name: string): string {
  return `<link rel="modulepreload" href="${ASSETS}/${name}">`;
}
