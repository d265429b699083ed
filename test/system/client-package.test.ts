// The package that `npm pack` makes of the client, installed and used as other people do.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasBrowser, startBrowser } from '../support/browser.ts';
import { root } from '../support/processes.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test('holds the code, its types, a page to read, and nothing that the client depends on', () => {
  expect(readdirSync(packed()).toSorted()).toEqual(['README.md', 'dist', 'package.json']);
  expect(readdirSync(join(packed(), 'dist')).toSorted()).toEqual([
    'client.d.ts',
    'client.js',
    'mcp.d.ts',
    'mcp.js',
    'send.d.ts',
    'send.js',
    'types.d.ts',
    'types.js',
  ]);
  expect(JSON.parse(readFileSync(join(packed(), 'package.json'), 'utf8')).dependencies).toBeUndefined();
});

test('is found by programs that know main and types instead of exports, as TypeScript with node10 does', () => {
  const { main, types } = JSON.parse(readFileSync(join(packed(), 'package.json'), 'utf8'));
  expect(readFileSync(join(packed(), `${main}`), 'utf8')).toContain('export function createClient(');
  expect(readFileSync(join(packed(), `${types}`), 'utf8')).toContain('export declare function createClient(');
});

const MAX_GZIP_BYTES = 6 * 1024;

test(`has at most ${MAX_GZIP_BYTES} bytes of code of the client after gzip`, () => {
  const code = ['client.js', 'send.js', 'types.js']
    .map((file) => readFileSync(join(packed(), 'dist', file), 'utf8'))
    .join('');
  expect(gzipSync(code).length).toBeLessThanOrEqual(MAX_GZIP_BYTES);
});

test('imports with explicit extensions only, as Deno and browsers need', () => {
  for (const file of ['client.js', 'send.js']) {
    const source = readFileSync(join(packed(), 'dist', file), 'utf8');
    for (const [, from = ''] of source.matchAll(/\bfrom '([^']+)'/g)) expect(from).toMatch(/^\.\/\w+\.js$/);
  }
});

/** How each runs a file; Deno and Bun only where they are on PATH. */
const RUNTIMES: [name: string, program: string, ...options: string[]][] = [
  ['plain Node', olderNode()],
  ['Deno', 'deno', 'run', '--allow-env', '--allow-net', '--node-modules-dir=manual'],
  ['Bun', 'bun', 'run'],
];
const isThere = (program: string) => spawnSync(program, ['--version']).status === 0;

for (const [name, program, ...options] of RUNTIMES) {
  test.runIf(isThere(program))(`works in ${name}`, async () => {
    const { key } = await system.createUser();
    writeFileSync(
      join(folder, 'use.js'),
      `import { createClient, InvalidRequestError } from 'spaced-repetition-client';
const client = createClient({ baseUrl: process.env.BASE_URL, apiKey: process.env.API_KEY });
${USE}console.log(JSON.stringify(result));\n`,
    );
    const { PATH } = process.env;
    const env = { PATH, DENO_DIR: folder, BASE_URL: `${system.origins[0]}/v1`, API_KEY: key };
    const { stdout } = await run(program, [...options, 'use.js'], { cwd: folder, env });
    expect(JSON.parse(stdout)).toEqual([5, 1, true, 'quality']);
  });
}

test('starts its MCP server in any folder by the command that its page names', async () => {
  const page = readFileSync(join(packed(), 'README.md'), 'utf8');
  const [, entry = ''] = /^```json\n([\s\S]*?)^```/m.exec(page) ?? [];
  const { command, args = [] } = JSON.parse(entry).mcpServers['spaced-repetition'];
  const env = { PATH: `${join(folder, 'node_modules/.bin')}:${dirname(process.execPath)}` };
  const { stdout } = await run(command, [...args, '--help'], { cwd: tmpdir(), env });
  expect(stdout).toMatch(/^Offers the spaced-repetition API to an AI agent as tools/);
});

test('tells TypeScript what is sent and received', async () => {
  const lines = [
    `import { createClient } from 'spaced-repetition-client';`,
    `const client = createClient({ baseUrl: 'http://127.0.0.1/v1', apiKey: 'k' });`,
    `const { material } = await client.createMaterial({ title: 'A' }); material.ef.toFixed();`,
    `await client.snoozeMaterial('id', { snoozeUntil: '2026-12-01T10:00:00Z' });`,
    `await client.snoozeMaterial('id', { reason: 'no time' });`,
    `await client.createMaterial({ title: 1 });`,
    `(await client.getMe()).name;`,
  ];
  writeFileSync(join(folder, 'use.ts'), lines.join('\n'));
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext'];
  const tsc = join(root, 'node_modules/.bin/tsc');
  const compile = run(tsc, [...options, '--lib', 'es2022,dom', '--types', '', 'use.ts'], { cwd: folder });
  const { stdout } = await compile.catch((error: { stdout: string }) => error);
  const errors = [...stdout.matchAll(/^use\.ts\((\d+),\d+\): error (TS\d+)/gm)];
  expect(errors.map(([, line, code]) => [Number(line), code])).toEqual([
    [5, 'TS2345'],
    [6, 'TS2322'],
    [7, 'TS2339'],
  ]);
});

test.runIf(hasBrowser('the client'))('works in a browser, on a page of another origin', async () => {
  const { key } = await system.createUser();
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(pages.origin);
    const result = await page.evaluate(`(async () => {
      const { createClient, InvalidRequestError } = await import('/client.js');
      const client = createClient({ baseUrl: ${JSON.stringify(`${system.origins[0]}/v1`)}, apiKey: ${JSON.stringify(key)} });
      ${USE}return result;
    })()`);
    expect(result).toEqual([5, 1, true, 'quality']);
  } finally {
    await browser.close();
  }
});

const run = promisify(execFile);

const USE = `
const { material } = await client.createMaterial({ title: 'Packed' });
const { review } = await client.submitReview(material.id, { quality: 5 });
const { materials } = await client.searchMaterials({ q: 'Packed' });
const error = await client.submitReview(material.id, { quality: 7 }).catch((thrown) => thrown);
const result = [review.quality, materials.length, error instanceof InvalidRequestError, error.field];
`;

let system: TestSystem;
let folder: string;
let pages: Awaited<ReturnType<typeof servePages>>;

async function startAll(): Promise<void> {
  pages = await servePages();
  system = await startSystem({ corsOrigins: [pages.origin] });
  folder = mkdtempSync(join(tmpdir(), 'srs-client-'));
  const npm = (args: string[], cwd: string) => execFileSync('npm', args, { cwd, stdio: 'pipe' });
  npm(['pack', '--pack-destination', folder], join(root, 'services/rest/client'));
  const [tarball = ''] = readdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  // What only the MCP server needs is that of this project, so that the test needs no registry.
  npm(['install', '--offline', '--omit=optional', '--no-audit', '--no-fund', `./${tarball}`], folder);
  mkdirSync(join(folder, 'node_modules/@modelcontextprotocol'));
  for (const name of ['zod', '@modelcontextprotocol/sdk'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
}

async function stopAll(): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await pages.stop();
  await system.stop();
}

/** An empty page, and the files of the package. */
async function servePages() {
  const server = createServer(({ url = '' }, response) => {
    if (!url.endsWith('.js')) return response.setHeader('content-type', 'text/html').end('<!doctype html>');
    response.setHeader('content-type', 'text/javascript');
    return response.end(readFileSync(join(packed(), 'dist', url)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The Node of the machine if it is old enough, else the one of the tests; the tests' own is newer than the oldest supported. */
function olderNode(): string {
  try {
    const version = execFileSync('/usr/bin/node', ['--version'], { encoding: 'utf8' });
    const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
    return major > 20 || (major === 20 && minor >= 3) ? '/usr/bin/node' : process.execPath;
  } catch {
    return process.execPath;
  }
}

const packed = () => join(folder, 'node_modules/spaced-repetition-client');
