// The client of the public API, for Node 20 or newer, Deno, Bun and browsers.
import { type ClientOptions, createSender, type ReadOptions, type WriteOptions } from './send.ts';
import type {
  CreateMaterialRequest,
  MaterialResponse,
  MaterialsResponse,
  MeResponse,
  ReviewRequest,
  ReviewResponse,
  SnoozeRequest,
  SnoozeResponse,
} from './types.ts';

export * from './send.ts';
export type * from './types.ts';

export type Client = {
  /** The account and the key. */
  getMe(options?: ReadOptions): Promise<MeResponse>;
  /** Active materials, the newest first. `limit`: 1 to 100, default 20; `q`: text to find. */
  listMaterials(query?: { limit?: number; q?: string }, options?: ReadOptions): Promise<MaterialsResponse>;
  /** Active materials that contain `q`; those with it in the title first. */
  searchMaterials(query: { q: string; limit?: number }, options?: ReadOptions): Promise<MaterialsResponse>;
  /** Materials that are due, the longest due first. */
  listDueMaterials(query?: { limit?: number }, options?: ReadOptions): Promise<MaterialsResponse>;
  /** Creates a material, which is due at once. */
  createMaterial(material: CreateMaterialRequest, options?: WriteOptions): Promise<MaterialResponse>;
  /** Grades the recall of a material from 0 to 5, which reschedules it. */
  submitReview(materialId: string, review: ReviewRequest, options?: WriteOptions): Promise<ReviewResponse>;
  /** Snoozes a material until an instant or by a preset. */
  snoozeMaterial(materialId: string, snooze: SnoozeRequest, options?: WriteOptions): Promise<SnoozeResponse>;
};

/**
 * Every method rejects with a ClientError, and none throws. A call is retried as `maxRetries` says, writes under one
 * Idempotency-Key. @throws InvalidOptionError
 */
export function createClient(options: ClientOptions): Client {
  const { get, post } = createSender(options);
  // encodeURIComponent throws for half of a surrogate pair; no material has such an ID.
  const pathOf = (strings: TemplateStringsArray, id: string) =>
    strings.join(encodeURIComponent(String(id).replace(/\p{Surrogate}/gu, '\ufffd')));
  return {
    getMe: (read) => get('/me', {}, read),
    listMaterials: (query, read) => get('/materials', query, read),
    searchMaterials: (query, read) => get('/search', query, read),
    listDueMaterials: (query, read) => get('/reviews/due', query, read),
    createMaterial: (material, write) => post('/materials', material, write),
    submitReview: (materialId, review, write) => post(pathOf`/reviews/${materialId}`, review, write),
    snoozeMaterial: (materialId, snooze, write) =>
      post(pathOf`/materials/${materialId}/snooze`, snooze, write),
  };
}
