// Maps between the services' messages and the objects of the public API.
import type { VerifyApiKeyResponse } from '../../generated/accounts/v1/VerifyApiKeyResponse.ts';
import type { CreateMaterialRequestInput } from '../../generated/scheduling/v1/CreateMaterialRequest.ts';
import type { Material as MaterialMessage } from '../../generated/scheduling/v1/Material.ts';
import type { SnoozeMaterialsRequestInput } from '../../generated/scheduling/v1/SnoozeMaterialsRequest.ts';
import type { SnoozeMaterialsResponse } from '../../generated/scheduling/v1/SnoozeMaterialsResponse.ts';
import type { SubmitReviewResponse } from '../../generated/scheduling/v1/SubmitReviewResponse.ts';
import { toIsoText } from '../platform/instants.ts';
import { epochMsOf, type Timestamp } from '../platform/protobuf/timestamps.ts';
import type { Material, MeResponse, Preset, ReviewResponse, Scope, SnoozeResponse } from './schemas.ts';

/** The authenticated caller and the scopes of the key. */
export type Principal = Omit<MeResponse, 'id'> & { userId: string; timeZone: string };

/** API names of gRPC request fields, for errors. */
export const API_FIELDS: Readonly<Record<string, string>> = {
  source_url: 'sourceUrl',
  snooze_until_time: 'snoozeUntil',
  query: 'q',
  request_id: 'Idempotency-Key',
  'idempotency-key': 'Idempotency-Key',
  page_size: 'limit',
};

const TYPES = {
  simple: 'MATERIAL_TYPE_SIMPLE',
  material: 'MATERIAL_TYPE_MATERIAL',
  flashcard: 'MATERIAL_TYPE_FLASHCARD',
  card: 'MATERIAL_TYPE_CARD',
} as const satisfies Record<Material['type'], CreateMaterialRequestInput['type']>;

const PRESETS = {
  '1h': 'SNOOZE_PRESET_ONE_HOUR',
  tonight: 'SNOOZE_PRESET_TONIGHT',
  tomorrow: 'SNOOZE_PRESET_TOMORROW',
} as const satisfies Record<Preset, SnoozeMaterialsRequestInput['preset']>;

const TYPE_OF_MESSAGE: Partial<Record<MaterialMessage['type'], Material['type']>> = {
  MATERIAL_TYPE_SIMPLE: 'simple',
  MATERIAL_TYPE_MATERIAL: 'material',
  MATERIAL_TYPE_FLASHCARD: 'flashcard',
  MATERIAL_TYPE_CARD: 'card',
};

export const toTypeMessage = (type: Material['type']) => TYPES[type];
export const toPresetMessage = (preset: Preset) => PRESETS[preset];

export function toPrincipal({ user, apiKey }: VerifyApiKeyResponse): Principal {
  if (user === null || apiKey === null)
    throw new Error('accounts verified a key but returned no user or key');
  return {
    userId: user.userId,
    email: user.email,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    plan: user.plan === 'PLAN_PREMIUM' ? 'premium' : 'free',
    timeZone: user.timeZone,
    apiKeyId: apiKey.apiKeyId,
    // accounts returns only the six scopes.
    scopes: apiKey.scopes as Scope[],
  };
}

const toIso = (timestamp: Timestamp | null, field: string) => toIsoText(epochMsOf(timestamp, field));
const toOptionalIso = (timestamp: Timestamp | null) => (timestamp === null ? null : toIso(timestamp, ''));

export function toMaterial(message: MaterialMessage | null): Material {
  const type = message === null ? undefined : TYPE_OF_MESSAGE[message.type];
  if (message === null || type === undefined) throw new Error('scheduling returned an incomplete material');
  return {
    id: message.materialId,
    title: message.title,
    content: message.content ?? null,
    sourceUrl: message.sourceUrl ?? null,
    type,
    ef: message.easeFactor,
    interval: message.intervalDays,
    repetitions: message.repetitions,
    nextReview: toOptionalIso(message.nextReviewTime),
    lastReviewed: toOptionalIso(message.lastReviewedTime),
    createdAt: toIso(message.createTime, 'create_time'),
    updatedAt: toIso(message.updateTime, 'update_time'),
  };
}

export function toReviewResponse({ material, review }: SubmitReviewResponse): ReviewResponse {
  if (review === null) throw new Error('scheduling returned no review');
  return {
    material: toMaterial(material),
    review: {
      quality: review.quality ?? 0,
      reviewedAt: toIso(review.reviewTime, 'review_time'),
      previousDueAt: toOptionalIso(review.before?.nextReviewTime ?? null),
    },
  };
}

export function toSnoozeResponse({ snooze }: SnoozeMaterialsResponse): SnoozeResponse {
  if (snooze === null) throw new Error('scheduling returned no snooze');
  return {
    snooze: {
      id: snooze.snoozeId,
      materialIds: snooze.materialIds,
      snoozeUntil: toIso(snooze.snoozeUntilTime, 'snooze_until_time'),
      reason: snooze.reason,
      createdAt: toIso(snooze.createTime, 'create_time'),
    },
  };
}
