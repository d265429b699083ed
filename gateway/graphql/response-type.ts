// Which of GraphQL's two media types a client gets: GraphQL over HTTP, section "Media Types".

const LEGACY = 'application/json';
const GRAPHQL = 'application/graphql-response+json';
/** Media ranges that are read. */
const MAX_RANGES = 32;

type ResponseType = typeof LEGACY | typeof GRAPHQL;

/** application/json, unless Accept names the other and does not prefer application/json. */
export function responseTypeOf(accept: string | undefined): ResponseType {
  const qualities = new Map<string, number>();
  for (const range of (accept ?? '').toLowerCase().split(',', MAX_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    qualities.set(type, quality === undefined ? 1 : Number(quality.slice(2)));
  }
  const quality = qualities.get(GRAPHQL) ?? 0;
  return quality > 0 && quality >= (qualities.get(LEGACY) ?? 0) ? GRAPHQL : LEGACY;
}
