// Wraps every mutation with the audit log: the caller, the changed IDs and the outcome; and has it recorded for the timeline.
import { defaultFieldResolver, type GraphQLSchema } from 'graphql';
import { toServiceError } from '../../services/platform/errors.ts';
import type { GatewayContext } from '../graphql/context.ts';
import { targetsOf } from '../limits/requested-mutations.ts';

/** Modifies `schema` in place. app.ts has already refused mutations of viewers. */
export function auditMutations(schema: GraphQLSchema): void {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const resolve = field.resolve ?? defaultFieldResolver;
    field.resolve = async (parent, input, context: GatewayContext, info) => {
      const entry = {
        action: field.name,
        responseKey: String(info.path.key),
        targets: targetsOf(input.input),
      };
      try {
        const result: unknown = await resolve(parent, input, context, info);
        const done = { ...entry, targets: { ...entry.targets, ...targetsOfResult(result) } };
        context.settle(done, 'ok');
        await context.record(done);
        return result;
      } catch (error) {
        context.settle(entry, toServiceError(error).reason);
        throw error;
      }
    };
  }
}

/** The IDs of changed and created objects. */
function targetsOfResult(result: unknown): Record<string, string | readonly string[]> {
  if (typeof result !== 'object' || result === null) return {};
  const parts = Object.values(result).flatMap((part: unknown) => {
    const message = typeof part === 'object' && part !== null && 'message' in part ? part.message : part;
    return [targetsOf(message)];
  });
  return Object.assign(targetsOf(result), ...parts);
}
