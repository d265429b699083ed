// TypeScript types of the schemas of the OpenAPI document, and the values of their enumerations, for the client.

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  description?: string;
};

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  null: 'null',
};

/** The source of a module with one exported type per named schema, and its values. @throws Error for a schema that it does not know. */
export function clientTypes(document: { components: { schemas: Record<string, Schema> } }): string {
  const types = Object.entries(document.components.schemas).map(([name, schema]) => {
    return `${comment(schema)}export type ${name} = ${typeOf(schema)};\n${valuesOf(name, schema)}`;
  });
  return `// Written by npm run generate from docs/openapi.json.\n\n${types.join('\n')}`;
}

function typeOf(schema: Schema): string {
  const { $ref, type, enum: values, items, properties, anyOf } = schema;
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (items !== undefined) return `Array<${typeOf(items)}>`;
  if (properties !== undefined) {
    const fields = objectOf(schema);
    return anyOf === undefined ? fields : `${fields} & (${anyOf.map(objectOf).join(' | ')})`;
  }
  const names = [type ?? []].flat().map((name) => PRIMITIVES[name]);
  if (names.length === 0 || names.includes(undefined))
    throw new Error(`no type for the schema ${JSON.stringify(schema)}`);
  return names.join(' | ');
}

/** The values of each enumeration in a request, such as SnoozeRequestValues.preset; empty if there is none. */
function valuesOf(name: string, { properties = {} }: Schema): string {
  if (!name.endsWith('Request')) return '';
  const lists = Object.entries(properties).flatMap(([property, { enum: values }]) =>
    values === undefined ? [] : `${property}: ${JSON.stringify(values)},\n`,
  );
  return lists.length === 0 ? '' : `export const ${name}Values = {\n${lists.join('')}} as const;\n`;
}

function objectOf({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${comment(field)}${name}${mark}: ${typeOf(field)};\n`;
  });
  return `{\n${fields.join('')}}`;
}

function comment({ description }: Schema): string {
  return description === undefined ? '' : `/** ${description} */\n`;
}
