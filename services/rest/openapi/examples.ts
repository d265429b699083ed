// One learner's afternoon: the examples of the OpenAPI document.
import { type Material, NEW } from '../material.ts';
import type { ReviewResponse, SnoozeResponse } from '../schemas.ts';

const REVIEWED: Material = {
  ...NEW,
  interval: 1,
  repetitions: 1,
  nextReview: '2026-11-24T14:05:00.000Z',
  lastReviewed: '2026-11-23T14:05:00.000Z',
  updatedAt: '2026-11-23T14:05:00.000Z',
};

export const ME = {
  id: '019ab1f0-1d52-7e44-8c07-5a9b2c3d4e5f',
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: null,
  plan: 'free',
  apiKeyId: '019ab1f0-2e63-7f55-9d18-6b0c3d4e5f60',
  scopes: ['materials:read', 'materials:write', 'reviews:read', 'reviews:write', 'snooze:write'],
};
export const CREATED = { material: NEW };
export const LIST = { materials: [NEW] };
export const REVIEW = { quality: 4 };
export const REVIEW_RESPONSE: ReviewResponse = {
  material: REVIEWED,
  review: { quality: 4, reviewedAt: '2026-11-23T14:05:00.000Z', previousDueAt: '2026-11-23T14:00:00.000Z' },
};
export const SNOOZE = { preset: 'tomorrow', reason: 'On the train' };
export const SNOOZE_RESPONSE: SnoozeResponse = {
  snooze: {
    id: '019ab1fa-4b7d-7a21-b3c6-4e7f9a0b1c2d',
    materialIds: [NEW.id],
    snoozeUntil: '2026-11-24T09:00:00.000Z',
    reason: 'On the train',
    createdAt: '2026-11-23T14:10:00.000Z',
  },
};
