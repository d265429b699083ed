// The types that the schemas of the public API are made of.
import { Type } from 'typebox';

/**
 * No U+0000 and no lone surrogate: PostgreSQL cannot store them in UTF-8. Means the same with and without the flag `u`, since
 * Swagger UI compiles it without.
 */
export const STORABLE = '^(?:[^\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$';

export const literals = <T extends string>(...values: T[]) =>
  Type.Unsafe<T>({ type: 'string', enum: values });
export const dateTime = (description: string) => Type.String({ format: 'date-time', description });
export const orNull = <T>(schema: { type?: unknown }, description: string) =>
  Type.Unsafe<T | null>({ ...schema, type: [schema.type, 'null'], description });
export const nullableDateTime = (description: string) =>
  orNull<string>(Type.String({ format: 'date-time' }), description);
