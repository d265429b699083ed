// Random valid queries of a schema: fragments, inline fragments, @include and @skip, variables with and without defaults.
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isLeafType,
  isObjectType,
} from 'graphql';

export type Pick = (below: number) => number;
export type RandomDocument = { query: string; variables: Record<string, unknown> };
export type DocumentOptions = {
  /** A value for the argument of a field (as Type.field), or undefined to leave the argument out. */
  valueFor: (field: string, argument: string, pick: Pick) => unknown;
  /** Fields, as Type.field, that are not asked for. */
  without: readonly string[];
};

/** Numbers from a seed, so that a failure can be had again. */
export function numbers(seed: number): Pick {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const MAX_DEPTH = 10;
const MAX_FIELDS = 40;
const MAX_ALIASES = 24;

/** The same seed gives the same document. */
export function randomDocument(
  schema: GraphQLSchema,
  seed: number,
  options: DocumentOptions,
): RandomDocument {
  return new Builder(schema, numbers(seed), options).build();
}

class Builder {
  readonly #schema: GraphQLSchema;
  readonly #pick: Pick;
  readonly #options: DocumentOptions;
  readonly #definitions: string[] = [];
  readonly #variables: Record<string, unknown> = {};
  readonly #fragments: string[] = [];
  readonly #fragmentsOf = new Map<string, string[]>();
  #fields = 0;
  #aliases = 0;
  #names = 0;

  constructor(schema: GraphQLSchema, pick: Pick, options: DocumentOptions) {
    this.#schema = schema;
    this.#pick = pick;
    this.#options = options;
  }

  build(): RandomDocument {
    const root = this.#schema.getQueryType();
    if (!root) throw new Error('the schema has no queries');
    const body = this.#selectionSet(root, 0);
    const head = this.#definitions.length > 0 ? `query Q(${this.#definitions.join(', ')})` : 'query Q';
    return { query: [`${head} ${body}`, ...this.#fragments].join(' '), variables: this.#variables };
  }

  #oneOf<T>(values: readonly T[]): T {
    const value = values[this.#pick(values.length)];
    if (value === undefined) throw new Error('nothing to choose from');
    return value;
  }

  #name(prefix: string): string {
    this.#names += 1;
    return `${prefix}${this.#names}`;
  }

  #selectionSet(type: GraphQLObjectType, depth: number, maySpread = true): string {
    const { without } = this.#options;
    const all = Object.values(type.getFields()).filter(
      ({ name }) => !without.includes(`${type.name}.${name}`),
    );
    const leaves = all.filter((field) => isLeafType(getNamedType(field.type)));
    const mayNest = depth < MAX_DEPTH && this.#fields < MAX_FIELDS && this.#aliases < MAX_ALIASES;
    const nested = mayNest ? all.filter((field) => !leaves.includes(field)) : [];
    const parts = ['__typename'];
    for (let count = 1 + this.#pick(4); count > 0 && leaves.length > 0; count -= 1) {
      parts.push(this.#field(type, this.#oneOf(leaves), depth));
    }
    for (let count = 1 + this.#pick(2); count > 0 && nested.length > 0; count -= 1) {
      parts.push(this.#field(type, this.#oneOf(nested), depth));
    }
    if (maySpread && this.#pick(3) === 0) parts.push(this.#spread(type, depth));
    if (maySpread && this.#pick(5) === 0) {
      const condition = this.#pick(2) === 0 ? ` on ${type.name}` : '';
      parts.push(`...${condition}${this.#directive()} ${this.#selectionSet(type, depth, false)}`);
    }
    return `{ ${parts.join(' ')} }`;
  }

  #field(type: GraphQLObjectType, field: GraphQLField<unknown, unknown>, depth: number): string {
    this.#fields += 1;
    const given = field.args.flatMap(({ name, type: argumentType }) => {
      const value = this.#options.valueFor(`${type.name}.${field.name}`, name, this.#pick);
      return value === undefined ? [] : [`${name}: ${this.#argument(String(argumentType), value)}`];
    });
    // Two fields of one name and different arguments may not stand side by side.
    const hasAlias = field.args.length > 0 || this.#pick(12) === 0;
    if (hasAlias) this.#aliases += 1;
    const alias = hasAlias ? `${this.#name('a')}: ` : '';
    const inner = getNamedType(field.type);
    const selections = isObjectType(inner) ? ` ${this.#selectionSet(inner, depth + 1)}` : '';
    return `${alias}${field.name}${given.length > 0 ? `(${given.join(', ')})` : ''}${this.#directive()}${selections}`;
  }

  #spread(type: GraphQLObjectType, depth: number): string {
    const known = this.#fragmentsOf.get(type.name) ?? [];
    const again = known[this.#pick(known.length * 2)];
    if (again !== undefined) return `...${again}${this.#directive()}`;
    const name = this.#name('F');
    this.#fragments.push(`fragment ${name} on ${type.name} ${this.#selectionSet(type, depth, false)}`);
    this.#fragmentsOf.set(type.name, [...(this.#fragmentsOf.get(type.name) ?? []), name]);
    return `...${name}${this.#directive()}`;
  }

  #directive(): string {
    if (this.#pick(4) > 0) return '';
    const name = this.#oneOf(['include', 'skip']);
    const condition = this.#pick(4) > 0 === (name === 'include');
    return ` @${name}(if: ${this.#argument('Boolean!', condition)})`;
  }

  /** A literal, or a variable that has the value: sent, or by its default, or sent over another default. */
  #argument(type: string, value: unknown): string {
    if (this.#pick(5) > 1) return this.#literal(type, value);
    const name = this.#name('v');
    const isSent = this.#pick(3) > 0;
    if (isSent) this.#variables[name] = value;
    if (isSent && this.#pick(2) === 0) this.#definitions.push(`$${name}: ${type}`);
    else {
      const other = isSent && typeof value === 'boolean' ? !value : value;
      this.#definitions.push(`$${name}: ${type.replace(/!$/, '')} = ${this.#literal(type, other)}`);
    }
    return `$${name}`;
  }

  #literal(type: string, value: unknown): string {
    const isEnum = isEnumType(this.#schema.getType(type.replaceAll(/[[\]!]/g, '')));
    return isEnum ? String(value) : JSON.stringify(value);
  }
}
