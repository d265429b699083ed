// Whether a client already has what it asks for: If-None-Match, RFC 9110, section 13.1.2.

/** Weak comparison. `header`: `*`, or entity tags separated by commas. */
export function matchesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const opaque = (tag: string) => tag.replace(/^W\//, '');
  return [...header.matchAll(/(?:W\/)?"[^"]*"/g)].some(([tag]) => opaque(tag) === opaque(etag));
}
