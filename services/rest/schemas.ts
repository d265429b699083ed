// The schemas of the public API: they validate requests, type the routes and generate the OpenAPI document, which names those
// with a title. Those of a material are in material.ts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import { type Static, Type } from 'typebox';
import { parseDateTime } from '../platform/instants.ts';
import { isUri, percentDecoded } from '../platform/text.ts';
import { MaterialSchema } from './material.ts';
import { dateTime, literals, nullableDateTime, orNull, STORABLE } from './schema-types.ts';

const SCOPES = literals(
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
);
export const ScopeSchema = { ...SCOPES, title: 'Scope' };
export type Scope = Static<typeof ScopeSchema>;

export const MeResponseSchema = Type.Object(
  {
    id: Type.String({ description: 'Identifier of the user.' }),
    email: Type.String({ format: 'email' }),
    firstName: orNull<string>(Type.String(), 'First name.'),
    lastName: orNull<string>(Type.String(), 'Last name.'),
    plan: literals('free', 'premium'),
    apiKeyId: Type.String({ description: 'Identifier of the key used for this call.' }),
    scopes: Type.Array(ScopeSchema),
  },
  { title: 'MeResponse', description: 'The account and the key.' },
);
export type MeResponse = Static<typeof MeResponseSchema>;

export const MaterialsResponseSchema = Type.Object(
  { materials: Type.Array(MaterialSchema) },
  { title: 'MaterialsResponse', description: 'At most limit materials.' },
);
export const MaterialResponseSchema = Type.Object(
  { material: MaterialSchema },
  { title: 'MaterialResponse', description: 'The new material.' },
);

const QualitySchema = Type.Integer({
  minimum: 0,
  maximum: 5,
  description: 'Recall: 0 total blackout, 3 correct with effort, 5 immediate and confident.',
});
export const ReviewRequestSchema = Type.Object({ quality: QualitySchema }, { title: 'ReviewRequest' });
export const ReviewResponseSchema = Type.Object(
  {
    material: MaterialSchema,
    review: Type.Object(
      {
        quality: QualitySchema,
        reviewedAt: dateTime('When the review was made.'),
        previousDueAt: nullableDateTime('nextReview as it was before.'),
      },
      { title: 'Review' },
    ),
  },
  { title: 'ReviewResponse', description: 'The material after rescheduling, and the review.' },
);
export type ReviewResponse = Static<typeof ReviewResponseSchema>;

const PresetSchema = literals('1h', 'tomorrow', 'tonight');
export type Preset = Static<typeof PresetSchema>;
export const SnoozeRequestSchema = Type.Object(
  {
    snoozeUntil: Type.Optional(dateTime('A later instant, with an offset; it wins over preset.')),
    preset: Type.Optional({
      ...PresetSchema,
      description:
        '1h: in 3,600 seconds; tonight: the next 20:00; tomorrow: 09:00 of the next day, on the account’s clock.',
    }),
    reason: Type.Optional(Type.String({ maxLength: 500, pattern: STORABLE, description: 'Free text.' })),
  },
  { title: 'SnoozeRequest', anyOf: [{ required: ['snoozeUntil'] }, { required: ['preset'] }] },
);
export const SnoozeResponseSchema = Type.Object(
  {
    snooze: Type.Object(
      {
        id: Type.String({ description: 'Identifier.' }),
        materialIds: Type.Array(Type.String()),
        snoozeUntil: dateTime('Until when.'),
        reason: Type.String({ description: 'Empty where none was given.' }),
        createdAt: dateTime('When the snooze was made.'),
      },
      { title: 'Snooze' },
    ),
  },
  { title: 'SnoozeResponse', description: 'The snooze.' },
);
export type SnoozeResponse = Static<typeof SnoozeResponseSchema>;

export const ErrorResponseSchema = Type.Object(
  {
    error: Type.Object(
      {
        code: literals(
          'unauthorized',
          'insufficient_scope',
          'invalid_request',
          'rate_limited',
          'not_found',
          'invalid_scope',
          'internal_error',
          'unavailable',
        ),
        message: Type.String({ description: 'For people.' }),
        details: Type.Optional(
          Type.Object({
            field: Type.Optional(Type.String({ description: 'The field at fault (invalid_request).' })),
            requiredScopes: Type.Optional(Type.Array(ScopeSchema)),
          }),
        ),
      },
      { title: 'Error' },
    ),
  },
  { title: 'ErrorResponse' },
);
export type ErrorResponse = Static<typeof ErrorResponseSchema>;

/** Materials of a list whose limit is not given. */
export const DEFAULT_LIMIT = 20;
const LimitSchema = Type.Integer({
  minimum: 1,
  maximum: 100,
  default: DEFAULT_LIMIT,
  description: 'How many at most.',
});
const QuerySchema = Type.String({
  pattern: STORABLE,
  description:
    'Text to find as a whole in the title, the content or the source URL; case does not matter. At most 1,024 bytes in UTF-8.',
  examples: ['forgetting'],
});
export const LimitQuerySchema = Type.Object({ limit: Type.Optional(LimitSchema) });
export const MaterialsQuerySchema = Type.Object({
  limit: Type.Optional(LimitSchema),
  q: Type.Optional(QuerySchema),
});
export const SearchQuerySchema = Type.Object({
  q: Type.String({ ...QuerySchema, minLength: 1 }),
  limit: Type.Optional(LimitSchema),
});
export const MaterialParamsSchema = Type.Object({
  materialId: Type.String({ description: 'Id of the material; upper and lower case are the same.' }),
});

export const WriteHeadersSchema = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x20-\\x7e]*$',
      description:
        'A new value for each write, such as a UUID. Makes a repetition of this write harmless for 24 hours: it is answered as the first was, with the header Idempotent-Replayed: true.',
    }),
  ),
});

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uri: isUri,
  'date-time': (text) => parseDateTime(text) !== undefined,
};

/** The parameters of all routes. Others are not even decoded: a query of 16 KiB that no key came with would cost milliseconds. */
const PARAMETER = /^(q|limit)(?:=(.*))?$/s;

/**
 * A repeated parameter becomes an array and invalid percent-encoding becomes null, which no schema accepts. A decimal `limit`
 * becomes a number.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const pair of text.split('&')) {
    const [, name, encoded = ''] = PARAMETER.exec(pair) ?? [];
    if (name === undefined) continue;
    const raw = percentDecoded(encoded.replaceAll('+', ' ')) ?? null;
    const value = name === 'limit' && raw !== null && /^\d+$/.test(raw) ? Number(raw) : raw;
    query[name] = name in query ? [value] : value;
  }
  return query;
}

/** An application whose routes are typed by these schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
