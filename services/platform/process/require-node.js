// Loaded before every command: reports an unsupported Node version before TypeScript syntax can fail, then turns on Node's
// compile cache, which halves the CPU of a start. Plain JavaScript without imports, which every Node version can parse.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `This project runs on Node 24 or newer; this is ${process.version} (${process.execPath}).\n` +
      (process.platform === 'linux'
        ? 'Start it through npm (for example "npm start"): "npm ci" has installed a Node 24 that npm scripts use.\n' +
          'If npm left out optional packages, run "npm ci --include=optional".\n'
        : 'Install Node 24 or newer, for example from https://nodejs.org. "npm ci" installs one only on Linux.\n'),
  );
  process.exit(1);
}
// Not in the shared folder for temporary files, where another account could put code. Where this folder is read-only,
// nothing is cached.
const { enableCompileCache } = process.getBuiltinModule('node:module');
const { fileURLToPath } = process.getBuiltinModule('node:url');
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/compile', import.meta.url)));
