// Closes the parts of a program, so that dependencies end last.

/** The last part first, one after the other; one that fails keeps no other open. @throws the first error, after all have ended. */
export async function closeInReverse(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers.toReversed()) await close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
