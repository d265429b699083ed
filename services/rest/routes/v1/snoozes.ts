// POST /materials/{materialId}/snooze.

import { parseDateTime } from '../../../platform/date-time.ts';
import { toTimestamp } from '../../../platform/protobuf/timestamps.ts';
import { callOf } from '../../call.ts';
import type { Clients } from '../../clients.ts';
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { toPresetMessage, toSnoozeResponse } from '../../mapper.ts';
import { SNOOZE, SNOOZE_RESPONSE } from '../../openapi/examples.ts';
import { errorResponses, success } from '../../openapi/responses.ts';
import { MaterialParamsSchema, WriteHeadersSchema } from '../../parameters.ts';
import { SnoozeRequestSchema, SnoozeResponseSchema } from '../../schemas.ts';
import { markReplayed } from './responses.ts';

const WRITE = { scopes: ['snooze:write'], isWrite: true } as const;

export function registerSnoozes(app: App, { snoozes }: Clients): void {
  app.post(
    '/materials/:materialId/snooze',
    {
      config: WRITE,
      schema: {
        tags: ['Materials'],
        operationId: 'snoozeMaterial',
        summary: 'Snooze a material',
        description:
          'Never brings a review forward. One of snoozeUntil and preset is required. Scope snooze:write.',
        params: MaterialParamsSchema,
        headers: WriteHeadersSchema,
        body: { ...SnoozeRequestSchema, examples: [SNOOZE] },
        response: {
          201: success(SnoozeResponseSchema, SNOOZE_RESPONSE, WRITE),
          ...errorResponses([400, 401, 403, 404, 429], WRITE),
        },
      },
    },
    async (request, reply) => {
      const { userId, timeZone } = principalOf(request);
      const { snoozeUntil, preset, reason = '' } = request.body;
      const until = snoozeUntil === undefined ? undefined : parseDateTime(snoozeUntil);
      const snoozed = await snoozes.snoozeMaterials(
        {
          userId,
          materialIds: [request.params.materialId.toLowerCase()],
          reason,
          timeZone,
          requestId: request.headers['idempotency-key'] ?? '',
          ...(until !== undefined && { snoozeUntilTime: toTimestamp(until) }),
          ...(preset !== undefined && { preset: toPresetMessage(preset) }),
        },
        callOf(request),
      );
      markReplayed(reply, snoozed);
      return reply.code(201).send(toSnoozeResponse(snoozed));
    },
  );
}
