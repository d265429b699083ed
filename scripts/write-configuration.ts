// npm run configuration: makes .env.example and the tables of docs/configuration.md from the table of variables.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../services/platform/process/command.ts';
import { SECRETS, VARIABLES, type Variable } from '../services/platform/process/variables.ts';

const root = join(import.meta.dirname, '..');
const LINE_CHARACTERS = 130;

const HEAD = `# All environment variables, made from services/platform/process/variables.ts by "npm run configuration". docker-compose reads the
# variables of the first part from .env; npm start and services read them from their environment. The second part has no effect on
# docker-compose. Commented lines show defaults or examples.

# === For docker-compose, in .env, and for npm start and services, exported ===
`;
const SECOND_PART_BEGINS = 'SERVICE_TOKEN';
const SECOND_PART =
  '# === For npm start and services alone, exported: docker-compose.yml sets these itself, or has no use for them ===\n';

const all = Object.entries<Variable>(VARIABLES);

const toExample = () => `${HEAD}${all.map(toExampleLines).join('')}`;

function toExampleLines([name, { heading, says, example, type, isSecret }]: [string, Variable]): string {
  const second = name === SECOND_PART_BEGINS ? `\n${SECOND_PART}` : '';
  const head = heading === undefined ? '' : `\n${comment(`--- ${heading} ---`)}\n`;
  const plain = says.replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, '$1 (docs/$2)').replaceAll('`', '');
  const line = `${name}=${example ?? type.default ?? ''}`;
  return `${second}${head}${comment(plain)}${isSecret && example === '' ? '' : '# '}${line}\n`;
}

/** Lines of a comment, each with its newline. */
function comment(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length + 1 <= LINE_CHARACTERS) lines[lines.length - 1] = line;
    else lines.push(` ${word}`);
  }
  return lines.map((line) => `#${line}\n`).join('');
}

function toTables(): string {
  const isOfCompose = ([, { readBy }]: [string, Variable]) => readBy.includes('docker-compose');
  return [
    '| variable | default | values | read by | purpose |',
    '|---|---|---|---|---|',
    ...all.filter((each) => !isOfCompose(each)).map(toRow),
    '',
    `Secrets can also come from files: ${SECRETS.map((name) => `\`${name}_FILE\``).join(', ')}.`,
    '',
    'docker-compose reads these variables; no npm script does:',
    '',
    '| variable | default | purpose |',
    '|---|---|---|',
    ...all
      .filter(isOfCompose)
      .map(([name, variable]) => `| \`${name}\` | ${defaultOf(variable)} | ${variable.says} |`),
  ].join('\n');
}

function toRow([name, variable]: [string, Variable]): string {
  const { type, isSecret, readBy, says } = variable;
  const values = {
    text: isSecret ? 'secret' : '',
    wholeNumber: 'min' in type ? `${type.min.toLocaleString('en')} to ${type.max.toLocaleString('en')}` : '',
    onOrOff: '`on`, `off`',
    oneOf: 'values' in type ? type.values.map((value) => `\`${value}\``).join(', ') : '',
  }[type.kind];
  return `| \`${name}\` | ${defaultOf(variable)} | ${values} | ${readBy.join(', ')} | ${says} |`;
}

function defaultOf({ without, type }: Variable): string {
  return without ?? (type.default === undefined ? 'none' : `\`${type.default}\``);
}

const MARKS = /(?<=<!-- variables -->\n\n).*?(?=\n\n<!-- \/variables -->)/s;

const HELP = `Makes .env.example and the tables of docs/configuration.md from services/platform/process/variables.ts.

  npm run configuration [-- --check]

  --check  changes nothing, and names what would be changed

Exits with 0, or with 1 if --check finds a difference.
`;
const options = { check: { type: 'boolean' } } as const;

await runCommand({ name: 'npm run configuration', help: HELP, options }, async ({ check }) => {
  const made = [
    { path: '.env.example', make: toExample },
    { path: 'docs/configuration.md', make: (old: string) => old.replace(MARKS, () => toTables()) },
  ];
  const stale = made.filter(({ path, make }) => {
    const old = readFileSync(join(root, path), 'utf8');
    const text = make(old);
    if (text !== old && !check) writeFileSync(join(root, path), text);
    return text !== old;
  });
  if (!check || stale.length === 0) return 0;
  process.stderr.write(`${stale.map(({ path }) => path).join(' and ')}: run "npm run configuration"\n`);
  return 1;
});
