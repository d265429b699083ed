// POST /materials/{materialId}/snooze.

import { parseDateTime } from '../../../platform/date-time.ts';
import { toTimestamp } from '../../../platform/protobuf/timestamps.ts';
import { callOf } from '../../call.ts';
import type { Clients } from '../../clients.ts';
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { toPresetMessage, toSnoozeResponse } from '../../mapper.ts';
import {
  MaterialParamsSchema,
  SnoozeRequestSchema,
  SnoozeResponseSchema,
  WriteHeadersSchema,
} from '../../schemas.ts';
import { markReplayed } from './replayed.ts';
import { errorResponses } from './responses.ts';

export function registerSnoozes(app: App, { snoozes }: Clients): void {
  app.post(
    '/materials/:materialId/snooze',
    {
      config: { scopes: ['snooze:write'], isWrite: true },
      schema: {
        operationId: 'snoozeMaterial',
        summary: 'Snooze a material',
        description:
          'Never brings a review forward. One of snoozeUntil and preset is required. Scope snooze:write.',
        params: MaterialParamsSchema,
        headers: WriteHeadersSchema,
        body: SnoozeRequestSchema,
        response: { 201: SnoozeResponseSchema, ...errorResponses(400, 401, 403, 404, 429) },
      },
    },
    async (request, reply) => {
      const { userId, timeZone } = principalOf(request);
      const { snoozeUntil, preset, reason = '' } = request.body;
      const until = snoozeUntil === undefined ? undefined : parseDateTime(snoozeUntil);
      const snoozed = await snoozes.snoozeMaterials(
        {
          userId,
          materialIds: [request.params.materialId],
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
