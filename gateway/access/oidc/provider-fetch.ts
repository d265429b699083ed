// Requests to the OpenID provider: bounded in time and bytes, and never redirected.

const TIMEOUT_MS = 5000;
/** Of an answer, decompressed. The keys of large providers take 20 KB. */
const MAX_BYTES = 256 * 1024;

/** @throws Error, or the body does, if the provider does not answer, answers too much, or redirects. */
export async function fetchFromProvider(
  address: string,
  { signal = providerTimeout(), ...init }: RequestInit = {},
): Promise<Response> {
  const response = await fetch(address, { ...init, redirect: 'error', signal });
  return new Response(response.body?.pipeThrough(atMostBytes(MAX_BYTES)) ?? null, response);
}

/** Aborts when a request that begins now has taken too long. */
export const providerTimeout = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);

function atMostBytes(max: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= max) controller.enqueue(chunk);
      else controller.error(new Error(`the answer has more than ${max} bytes`));
    },
  });
}
