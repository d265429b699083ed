// Reads google.protobuf.FieldMask, which lists the fields that an update changes (google.aip.dev/134).
import { isDeepStrictEqual } from 'node:util';
import { invalidField } from './errors.ts';

/**
 * The paths of `present` to change: those in the mask, or without a mask those with a value.
 * `removable`: the paths that an update may clear. @throws INVALID_REQUEST, field update_mask, for an unknown path; with the path as its
 * field, for a path in the mask that has no value and is not removable.
 */
export function readFieldMask<P extends string>(
  mask: { paths: readonly string[] } | null,
  present: Readonly<Record<P, unknown>>,
  removable: readonly NoInfer<P>[],
): ReadonlySet<P> {
  const named = mask?.paths ?? [];
  // The keys of an object of the mapped type are P.
  const known = Object.keys(present) as P[];
  if (named.some((path) => !Object.hasOwn(present, path)))
    throw invalidField('update_mask', `may name ${known.join(', ')}.`);
  const paths = known.filter((path) =>
    named.length > 0 ? named.includes(path) : present[path] !== undefined,
  );
  for (const path of paths)
    if (present[path] === undefined && !removable.includes(path))
      throw invalidField(path, 'cannot be removed.');
  return new Set(paths);
}

/** Whether `before` already has all values of `changes`. */
export function changesNothing<T extends object>(before: T, changes: Partial<NoInfer<T>>): boolean {
  return isDeepStrictEqual({ ...before, ...changes }, before);
}
