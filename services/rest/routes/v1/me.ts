// GET /me: the account and the scopes of the key.
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { MeResponseSchema } from '../../schemas.ts';
import { errorResponses } from './responses.ts';

export function registerMe(app: App): void {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'getMe',
        summary: 'Account and key context',
        description: 'Any valid key.',
        response: { 200: MeResponseSchema, ...errorResponses(401) },
      },
    },
    async (request) => {
      const { userId, timeZone: _ours, ...principal } = principalOf(request);
      return { id: userId, ...principal };
    },
  );
}
