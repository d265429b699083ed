// Extracts the requested mutations from a document, for the audit of refused requests.
import { type FieldNode, Kind, type SelectionSetNode, valueFromASTUntyped } from 'graphql';
import { isUuid } from '../../services/platform/uuid.ts';
import type { MeasureInput } from './measure.ts';

/** A root field of a mutation: its name, its response key, and the given IDs. */
export type RequestedMutation = {
  action: string;
  responseKey: string;
  targets: Record<string, string | readonly string[]>;
};

const TARGETS = [
  'userId',
  'materialId',
  'materialIds',
  'snoozeId',
  'apiKeyId',
  'reminderId',
  'subscriptionId',
];
const MAX_IDS = 100;

/** The first `max` mutations, fragments included. Unknown field names are not repeated. */
export function requestedMutations(
  { schema, operation, fragments, variables }: MeasureInput,
  max: number,
): { first: RequestedMutation[]; areMore: boolean } {
  const known = schema.getMutationType()?.getFields() ?? {};
  const fields: FieldNode[] = [];
  const seen = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (fields.length > max) return;
      if (selection.kind === Kind.FIELD) fields.push(selection);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else if (!seen.has(selection.name.value)) {
        seen.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment !== undefined) collect(fragment.selectionSet);
      }
    }
  };
  collect(operation.selectionSet);
  const first = fields.slice(0, max).map((field) => {
    const argument = field.arguments?.find(({ name }) => name.value === 'input');
    const input: unknown = argument && valueFromASTUntyped(argument.value, variables);
    return {
      action: Object.hasOwn(known, field.name.value) ? field.name.value : 'unknown',
      responseKey: field.alias?.value ?? field.name.value,
      targets: targetsOf(input),
    };
  });
  return { first, areMore: fields.length > max };
}

/** The IDs in an input. Malformed ones are not repeated, since people paste the key in place of its ID. */
export function targetsOf(input: unknown): Record<string, string | readonly string[]> {
  const targets: Record<string, string | readonly string[]> = {};
  if (typeof input !== 'object' || input === null) return targets;
  const idOf = (value: unknown) => (typeof value === 'string' && isUuid(value) ? value : 'not an id');
  for (const [name, value] of Object.entries(input)) {
    if (!TARGETS.includes(name)) continue;
    if (Array.isArray(value)) targets[name] = value.slice(0, MAX_IDS).map(idOf);
    else if (typeof value === 'string') targets[name] = idOf(value);
  }
  return targets;
}
