// Measures a document before it is validated or run, in time linear in its length: each fragment is measured once.
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  valueFromASTUntyped,
} from 'graphql';
import { refuseDocument } from '../errors.ts';
import { introspectionRows } from './introspection-rows.ts';

export type Measure = {
  /** Fields that the answer may hold, with more for those that cost a call of their own. */
  cost: number;
  depth: number;
};

export type MeasureInput = {
  schema: GraphQLSchema;
  operation: OperationDefinitionNode;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Readonly<Record<string, unknown>>;
};

const MAX_ROWS = 100;
const DEFAULT_ROWS = 20;
/** Two fields of one name are compared with each other by validation: a set of n fields costs n². */
const MAX_SELECTIONS = 100;

const MAX_FRAGMENT_DEPTH = 20;

/** What a field costs beyond its own line: batched with its like, or a call of its own. */
const BATCHED_CALL = 10;
const OWN_CALL = 100;
/** A call that reads a learner's whole history and answers up to two rows for each of 365 days. */
const STATISTIC = 800;
/** May hold 256 KiB, where most fields hold a few bytes. */
const LARGE_TEXT = 80;
const EXTRA: Readonly<Record<string, number>> = {
  'User.materials': BATCHED_CALL,
  'User.dueMaterials': BATCHED_CALL,
  'Material.reviews': BATCHED_CALL,
  'Review.material': BATCHED_CALL,
  'User.reviews': OWN_CALL,
  'User.snoozes': OWN_CALL,
  'User.apiKeys': OWN_CALL,
  'Material.snoozes': OWN_CALL,
  'Material.previews': OWN_CALL,
  'Stats.forecast': STATISTIC,
  'Stats.activity': STATISTIC,
  'Stats.retention': STATISTIC,
  'Stats.distributions': STATISTIC,
  'Stats.hardestMaterials': STATISTIC,
  'Material.content': LARGE_TEXT,
  'Material.sourceUrl': LARGE_TEXT,
};

/** @throws INVALID_REQUEST for fragments in a circle, and for too many fields side by side. */
export function measure(input: MeasureInput): Measure {
  const { schema, operation, fragments, variables } = input;
  const measured = new Map<string, Measure | 'in progress'>();

  const measureSet = (set: SelectionSetNode, type: GraphQLNamedType | undefined): Measure => {
    if (widthOf(set) > MAX_SELECTIONS) {
      throw refuseDocument(`At most ${MAX_SELECTIONS} fields may stand side by side.`);
    }
    const total = { cost: 0, depth: 0 };
    for (const selection of set.selections) {
      const part =
        selection.kind === Kind.FIELD
          ? measureField(selection, type)
          : selection.kind === Kind.FRAGMENT_SPREAD
            ? measureFragment(selection.name.value)
            : measureSet(selection.selectionSet, typeNamed(selection.typeCondition?.name.value) ?? type);
      total.cost += part.cost;
      total.depth = Math.max(total.depth, part.depth);
    }
    return total;
  };

  const measureField = (node: FieldNode, parent: GraphQLNamedType | undefined): Measure => {
    const field = fieldOf(parent, node.name.value);
    const extra = EXTRA[`${parent?.name}.${node.name.value}`] ?? 0;
    if (node.selectionSet === undefined) return { cost: 1 + extra, depth: 1 };
    const inner = measureSet(node.selectionSet, field && getNamedType(field.type));
    return { cost: 1 + extra + inner.cost * rowsOf(node, parent, field), depth: 1 + inner.depth };
  };

  const measureFragment = (name: string): Measure => {
    const known = measured.get(name);
    if (known === 'in progress') throw refuseDocument(`The fragment ${name} contains itself.`);
    if (known !== undefined) return known;
    const fragment = fragments.get(name);
    if (fragment === undefined) return { cost: 0, depth: 0 };
    measured.set(name, 'in progress');
    const result = measureSet(fragment.selectionSet, typeNamed(fragment.typeCondition.name.value));
    measured.set(name, result);
    return result;
  };

  const rowsOf = (
    node: FieldNode,
    parent: GraphQLNamedType | undefined,
    field: GraphQLField<unknown, unknown> | undefined,
  ): number => {
    if (parent?.name.startsWith('__')) return introspectionRows(schema, `${parent.name}.${node.name.value}`);
    if (!field?.args.some(({ name }) => name === 'first')) return 1;
    const argument = node.arguments?.find(({ name }) => name.value === 'first');
    const value = argument && valueFromASTUntyped(argument.value, { ...variables });
    // What is no number is refused later; until then it counts as the default.
    return typeof value === 'number' ? Math.min(Math.max(value, 1), MAX_ROWS) : DEFAULT_ROWS;
  };

  const typeNamed = (name: string | undefined) => (name === undefined ? undefined : schema.getType(name));
  // Also those that nothing spreads: validation goes through them all the same.
  for (const name of fragments.keys()) {
    if (measureFragment(name).depth > MAX_FRAGMENT_DEPTH)
      throw refuseDocument(`The fragment ${name} is too deep.`);
  }
  const root = schema.getRootType(operation.operation) ?? undefined;
  return measureSet(operation.selectionSet, root);
}

/** Fields that validation takes for one set: those of inline fragments are among their parent's. */
function widthOf({ selections }: SelectionSetNode): number {
  return selections.reduce(
    (width, selection) =>
      width + (selection.kind === Kind.INLINE_FRAGMENT ? widthOf(selection.selectionSet) : 1),
    0,
  );
}

/** Unknown fields are refused by validation, after this. */
function fieldOf(
  parent: GraphQLNamedType | undefined,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
  if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  const isObject = (type: GraphQLNamedType | undefined): type is GraphQLObjectType => isObjectType(type);
  return isObject(parent) ? parent.getFields()[name] : undefined;
}
