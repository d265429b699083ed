// Computes the cost of a document before execution, in linear time: each fragment is measured once per kind of context.
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  valueFromASTUntyped,
} from 'graphql';
import { invalidRequest } from '../../services/platform/errors.ts';
import { DEFAULT_ROWS, MAX_ROWS } from '../graphql/relay.ts';
import { callOf, JOINED, JOINED_COST, JOINING, LONG, ROWS } from './field-costs.ts';
import { introspectionRows } from './introspection-rows.ts';

/** Upper bounds, tested with random documents: test/gateway/random-documents.test.ts. */
export type Measure = {
  /** Fields of the response, weighted for long texts and calls. */
  cost: number;
  depth: number;
  /** Service calls. */
  rpcs: number;
};

export type MeasureInput = {
  schema: GraphQLSchema;
  operation: OperationDefinitionNode;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Readonly<Record<string, unknown>>;
};

/** `joined`: calls that the enclosing list makes for all its rows together. */
type Part = Measure & { joined: number };
/**
 * The context of a selection set: a single object, rows of a list that prefetches, reviews of a known material, the whole schema,
 * or a type within nested list and non-null wrappers.
 */
type Place = 'alone' | 'joined rows' | 'reviews of a material' | 'whole schema' | Wrapped;
/** Our types have at most three wrappers, `[X!]!`. */
type Wrapped = 'within 1' | 'within 2' | 'within 3';
const WITHIN: Readonly<Partial<Record<Place, Wrapped>>> = {
  'within 1': 'within 2',
  'within 2': 'within 3',
  'within 3': 'within 3',
};
type Parent = { type: GraphQLNamedType | undefined; place: Place };

/** @throws INVALID_REQUEST for cyclic fragments. */
export function measure(input: MeasureInput): Measure {
  const root = input.schema.getRootType(input.operation.operation) ?? undefined;
  const { joined: _, ...total } = new Measuring(input).set(input.operation.selectionSet, {
    type: root,
    place: 'alone',
  });
  return total;
}

class Measuring {
  readonly #input: MeasureInput;
  readonly #fragments = new Map<string, Part | 'in progress'>();

  constructor(input: MeasureInput) {
    this.#input = input;
  }

  set({ selections }: SelectionSetNode, parent: Parent): Part {
    const total = { cost: 0, depth: 0, rpcs: 0, joined: 0 };
    for (const selection of selections) {
      const part = this.#selection(selection, parent);
      total.cost += part.cost;
      total.depth = Math.max(total.depth, part.depth);
      total.rpcs += part.rpcs;
      total.joined += part.joined;
    }
    return total;
  }

  #selection(node: SelectionNode, parent: Parent): Part {
    if (node.kind === Kind.FIELD) return this.#field(node, parent);
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#fragment(node.name.value, parent.place);
    const condition = node.typeCondition?.name.value;
    const type = condition === undefined ? parent.type : this.#input.schema.getType(condition);
    return this.set(node.selectionSet, { type, place: parent.place });
  }

  #fragment(name: string, place: Place): Part {
    const key = `${name} ${place}`;
    const known = this.#fragments.get(key);
    if (known === 'in progress') throw invalidRequest('query', 'A fragment contains itself.');
    if (known !== undefined) return known;
    const fragment = this.#input.fragments.get(name);
    if (fragment === undefined) return { cost: 0, depth: 0, rpcs: 0, joined: 0 };
    this.#fragments.set(key, 'in progress');
    const type = this.#input.schema.getType(fragment.typeCondition.name.value);
    const part = this.set(fragment.selectionSet, { type, place });
    this.#fragments.set(key, part);
    return part;
  }

  #field(node: FieldNode, parent: Parent): Part {
    const field = fieldOf(parent.type, node.name.value);
    const name = `${parent.type?.name}.${node.name.value}`;
    const own = this.#own(node, name, parent.place);
    if (node.selectionSet === undefined) return own;
    const inner = this.set(node.selectionSet, {
      type: field && getNamedType(field.type),
      place: placeWithin(name, parent.place),
    });
    const rows = this.#rows(node, { field, name, place: parent.place });
    const isJoining = JOINING.has(name);
    return {
      cost: own.cost + inner.cost * rows,
      depth: 1 + inner.depth,
      rpcs: own.rpcs + inner.rpcs * rows + (isJoining ? inner.joined : 0),
      joined: own.joined + (isJoining ? 0 : inner.joined),
    };
  }

  /** The cost of the field without its selection set. */
  #own(node: FieldNode, name: string, place: Place): Part {
    const cost = 1 + (LONG[name] ?? 0);
    const isLater = (this.#argument(node, 'after') ?? null) !== null;
    if (name === 'Review.material' && place === 'reviews of a material')
      return { cost, depth: 1, rpcs: 0, joined: 0 };
    if (JOINED.has(name) && place === 'joined rows' && !isLater)
      return { cost: cost + JOINED_COST, depth: 1, rpcs: 0, joined: 1 };
    const isSearch = name === 'User.materials' && Boolean(this.#argument(node, 'query'));
    const call = callOf(name, { isLater, isSearch });
    return { cost: cost + call.cost, depth: 1, rpcs: call.rpcs, joined: 0 };
  }

  #rows(
    node: FieldNode,
    of: { field: GraphQLField<unknown, unknown> | undefined; name: string; place: Place },
  ): number {
    const { field, name, place } = of;
    if (name === '__Type.ofType') return place === 'within 3' ? 0 : 1;
    if (name.startsWith('__')) return introspectionRows(this.#input.schema, name, place === 'whole schema');
    if (!field?.args.some((argument) => argument.name === 'first')) return ROWS[name] ?? 1;
    const first = this.#argument(node, 'first');
    // An invalid number is refused later; here it counts as the default.
    return typeof first === 'number' ? Math.min(Math.max(first, 1), MAX_ROWS) : DEFAULT_ROWS;
  }

  #argument(node: FieldNode, name: string): unknown {
    const argument = node.arguments?.find((each) => each.name.value === name);
    return argument && valueFromASTUntyped(argument.value, this.#input.variables);
  }
}

/** The context of the selection set of field `name` (Type.field). */
function placeWithin(name: string, place: Place): Place {
  if (JOINING.has(name)) return 'joined rows';
  if (name === 'Material.reviews') return 'reviews of a material';
  if (name === '__Schema.types') return 'whole schema';
  if (name === '__Type.ofType') return WITHIN[place] ?? 'within 1';
  if (/^\w+(Connection|Edge)\.|^HardMaterial\.material$/.test(name)) return place;
  if ((name === 'Review.material' || name === 'TimelineEvent.material') && place === 'joined rows')
    return place;
  const isOfAll = /^__Type\.(fields|inputFields|enumValues)$|^__Field\.args$/.test(name);
  return isOfAll && place === 'whole schema' ? place : 'alone';
}

/** Validation refuses unknown fields later. */
function fieldOf(
  parent: GraphQLNamedType | undefined,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
  if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  return isObjectType(parent) ? parent.getFields()[name] : undefined;
}
