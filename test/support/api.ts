// An HTTP client of the public API that holds every answer it gets against the contract.
import { expect } from 'vitest';
import type { Material } from '../../services/rest/client/types.ts';
import { type Answer, ENDPOINTS, expectWithinContract, isErrorBody } from '../contract/spec.ts';

export type ApiOptions = {
  key?: string;
  json?: unknown;
  body?: string | Uint8Array;
  headers?: Record<string, string>;
  /** Default: that of the API. */
  mayBeUnavailable?: boolean;
};
export type Api = ReturnType<typeof createApi>;

/** `base` ends with /v1. `mayBeUnavailable`: 503 is an answer to expect, since the test makes a fault or a flood. */
export function createApi(base: string, key?: string, { mayBeUnavailable = false } = {}) {
  const request = async (method: string, path: string, options: ApiOptions = {}): Promise<Answer> => {
    const sentKey = options.key ?? key;
    const body = options.json === undefined ? options.body : JSON.stringify(options.json);
    const response = await fetch(base + path, {
      method,
      headers: {
        ...(sentKey !== undefined && { authorization: `Bearer ${sentKey}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body !== undefined && { body }),
    });
    const answer = { status: response.status, headers: response.headers, body: await response.json() };
    if ((options.mayBeUnavailable ?? mayBeUnavailable) && answer.status === 503) {
      expect(isErrorBody(503, answer.body)).toBe(true);
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    } else {
      expectWithinContract(endpointOf(method, path), answer);
    }
    return answer;
  };
  return {
    get: (path: string, options?: ApiOptions) => request('GET', path, options),
    post: (path: string, json?: unknown, options?: ApiOptions) =>
      request('POST', path, { ...options, ...(json !== undefined && { json }) }),
    request,
    /** Again where a busy machine takes so long to open a connection to the database that the answer is 503. */
    async create(json: object): Promise<Material> {
      const post = () => request('POST', '/materials', { json, mayBeUnavailable: true });
      let { status, body } = await post();
      for (let left = 9; status === 503 && left > 0; left -= 1) ({ status, body } = await post());
      if (status !== 201) throw new Error(`not created: ${JSON.stringify(body)}`);
      return (body as { material: Material }).material;
    },
  };
}

export function materialsOf({ body }: Answer): Material[] {
  return (body as { materials: Material[] }).materials;
}

export function errorOf({ body }: Answer): {
  code: string;
  message: string;
  details?: { field?: string; requiredScopes?: string[] };
} {
  return (body as { error: { code: string; message: string } }).error;
}

function endpointOf(method: string, path: string) {
  const [pathname = ''] = path.split('?');
  return ENDPOINTS.find((endpoint) => {
    const pattern = endpoint.path.replace('{materialId}', '(?!due$)[^/]+');
    return endpoint.method === method && new RegExp(`^${pattern}$`).test(pathname);
  });
}
