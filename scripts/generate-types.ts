// Writes the TypeScript types of the protos and of the gateway's schema into generated/, and those of the OpenAPI document into the
// client (both git-ignored; only the type checker and editors read the types), and the descriptors of the protos.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { buildASTSchema, parse } from 'graphql';
import { ENUMERATIONS } from '../gateway/schema/enumerations.ts';
import { readTypeDefinitions } from '../gateway/schema/type-definitions.ts';
import { BUF, buildDescriptors } from './build-descriptors.ts';
import { clientTypes } from './client-types.ts';
import { operationTypes } from './operation-types.ts';

const root = dirname(import.meta.dirname);
const require = createRequire(import.meta.url);
const generated = join(root, 'generated');

rmSync(generated, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [
    join(dirname(require.resolve('@grpc/proto-loader/package.json')), 'build/bin/proto-loader-gen-types.js'),
    '--longs=Number',
    '--enums=String',
    '--defaults',
    '--includeComments',
    '--inputTemplate=%sInput',
    '--outputTemplate=%s',
    '--importFileExtension=.ts',
    '--grpcLib=@grpc/grpc-js',
    '--outDir=generated',
    ...globSync('{accounts,reminders,scheduling}/v1/*.proto', { cwd: join(root, 'proto') }).sort(),
    '-I',
    'proto',
  ],
  { cwd: root, stdio: 'inherit' },
);
// Lists of all messages of a file, which are unused.
for (const file of globSync('*.ts', { cwd: generated })) rmSync(join(generated, file));

const document = readFileSync(join(root, 'docs/openapi.json'), 'utf8');
writeFileSync(join(root, 'services/rest/client/types.ts'), clientTypes(JSON.parse(document)));

/** The gateway's own type of an object, such as UserNode of User. */
const model = readFileSync(join(root, 'gateway/nodes.ts'), 'utf8');
const mappers = [...model.matchAll(/^export type (?:\{ \w+ as )?(\w+)Node\b/gm)].map(([, type]) => [
  type,
  `../../gateway/nodes.ts#${type}Node`,
]);
/** The types of the protos' enumerations, by their names in the schema. */
const enumerations = Object.entries(ENUMERATIONS).map(([name, proto]) => {
  const parts = proto.split('.');
  return [name, `../${parts.join('/')}.ts#${parts.at(-1)}`];
});
const schema = parse(readTypeDefinitions());
const dashboard = await import(join(root, 'gateway/dashboard/page/queries.js'));
mkdirSync(join(generated, 'gateway'), { recursive: true });
writeFileSync(
  join(generated, 'gateway/dashboard-operations.ts'),
  operationTypes(buildASTSchema(schema), dashboard.DOCUMENTS),
);
// What reflection serves. Checked in, since buf is a package for development.
// Left alone if unchanged: tests may read it at the same time.
const descriptors = join(root, 'proto/descriptors.binpb');
const built = existsSync(BUF) ? buildDescriptors() : undefined;
if (built !== undefined && !built.equals(readFileSync(descriptors))) writeFileSync(descriptors, built);
// Missing if only runtime packages are installed; then no types are needed.
if (existsSync(join(root, 'node_modules/@graphql-codegen/core'))) {
  const { codegen } = await import('@graphql-codegen/core');
  const text = await codegen({
    schema,
    documents: [],
    filename: 'resolvers.ts',
    plugins: [{ typescript: {} }, { resolvers: {} }],
    pluginMap: {
      typescript: await import('@graphql-codegen/typescript'),
      resolvers: await import('@graphql-codegen/typescript-resolvers'),
    },
    config: {
      useTypeImports: true,
      enumsAsTypes: true,
      immutableTypes: true,
      contextType: '../../gateway/context.ts#GatewayContext',
      mappers: Object.fromEntries(mappers),
      enumValues: Object.fromEntries(enumerations),
      scalars: {
        ID: { input: 'string', output: 'string' },
        DateTime: { input: 'Date', output: 'number' },
        Date: { input: 'string', output: 'string' },
      },
    },
  });
  // The enumerations are types alone.
  writeFileSync(join(generated, 'gateway/resolvers.ts'), text.replaceAll(/^export \{/gm, 'export type {'));
}
