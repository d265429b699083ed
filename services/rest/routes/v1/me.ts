// GET /me: the account and the scopes of the key.
import type { App } from '../../fastify.ts';
import { principalOf } from '../../hooks/authenticate.ts';
import { ME } from '../../openapi/examples.ts';
import { errorResponses, success } from '../../openapi/responses.ts';
import { MeResponseSchema } from '../../schemas.ts';

export function registerMe(app: App): void {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'getMe',
        tags: ['Account'],
        summary: 'Account and key context',
        description: 'Any valid key.',
        response: { 200: success(MeResponseSchema, ME), ...errorResponses([401]) },
      },
    },
    async (request) => {
      const { userId, timeZone: _ours, ...principal } = principalOf(request);
      return { id: userId, ...principal };
    },
  );
}
