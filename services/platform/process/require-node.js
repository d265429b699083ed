// Loaded before every command: reports an unsupported Node version before TypeScript syntax can fail.
// Plain JavaScript without imports, which every Node version can parse.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `This project runs on Node 24 or newer; this is ${process.version} (${process.execPath}).\n` +
      'Start it through npm (for example "npm start"): "npm ci" has installed a Node 24 that npm scripts use.\n' +
      'If npm left out optional packages, run "npm ci --include=optional".\n',
  );
  process.exit(1);
}
