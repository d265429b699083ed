// The schemas of queries, paths and headers of the public API.
import { Type } from 'typebox';
import { STORABLE } from './schemas.ts';

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
