// Moves schemas that have a title from the places that use them to components/schemas of the OpenAPI document.
import { isDeepStrictEqual } from 'node:util';

type Json = Record<string, unknown>;

/**
 * Replaces each schema that has a `title` by a reference to its definition under that name. Changes nothing in `document`.
 * @throws Error if two different schemas have one title.
 */
export function nameSchemas<T extends object>(document: T): T {
  const schemas: Json = {};
  const rewrite = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(rewrite);
    if (!isObject(node)) return node;
    const entries = Object.entries(node).map(([key, value]) => [
      key,
      // Data, in which a title is only text.
      key === 'example' || key === 'examples' ? value : rewrite(value),
    ]);
    const { title, ...schema } = Object.fromEntries(entries);
    if (typeof title !== 'string' || schema.type === undefined) return Object.fromEntries(entries);
    schemas[title] ??= schema;
    if (!isDeepStrictEqual(schemas[title], schema)) throw new Error(`two schemas are named ${title}`);
    return { $ref: `#/components/schemas/${title}` };
  };
  // An object stays an object, with the same parts.
  const { components, ...rest } = rewrite(document) as Json;
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => a.localeCompare(b, 'en')));
  return { ...rest, components: { ...(components as Json), schemas: sorted } } as unknown as T;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}
