// Random documents that make as much of a few names as the limits of the gateway let them: the same fields again and again, in each
// other and in fragments that spread each other.
import { type GraphQLObjectType, type GraphQLSchema, getNamedType, isLeafType, isObjectType } from 'graphql';
import { numbers, type Pick } from './random-documents.ts';

const MAX_TOKENS = 1990;

export function hostileDocument(schema: GraphQLSchema, seed: number): string {
  return new Hostile(schema, numbers(seed)).build();
}

class Hostile {
  readonly #pick: Pick;
  readonly #root: GraphQLObjectType;
  readonly #fragments: string[] = [];
  readonly #maxFragments: number;
  readonly #repeats: number;
  readonly #variety: number;
  #tokens = 10;

  constructor(schema: GraphQLSchema, pick: Pick) {
    const root = schema.getQueryType();
    if (!root) throw new Error('the schema has no queries');
    this.#root = root;
    this.#pick = pick;
    this.#maxFragments = pick(2) === 0 ? 0 : 1 + pick(49);
    this.#repeats = 1 + pick(40);
    this.#variety = 1 + pick(4);
  }

  build(): string {
    const body = this.#set(this.#root, 0);
    return [body, ...this.#fragments].join(' ');
  }

  #set(type: GraphQLObjectType, depth: number): string {
    const all = Object.values(type.getFields());
    const leaves = all.filter((field) => isLeafType(getNamedType(field.type))).slice(0, this.#variety);
    const nested = all.filter(
      (field) =>
        isObjectType(getNamedType(field.type)) &&
        field.args.every(({ name }) => !/^(userId|id|email)$/.test(name)),
    );
    const parts = [this.#take(1, '__typename')];
    const mayNest = depth < 10 && nested.length > 0;
    for (let count = this.#repeats; count > 0 && this.#tokens < MAX_TOKENS; count -= 1) {
      const what = this.#pick(10);
      const leaf = leaves[this.#pick(leaves.length)];
      const object = nested[this.#pick(Math.min(nested.length, this.#variety))];
      const inner = object && getNamedType(object.type);
      if (what < 2 && this.#fragments.length < this.#maxFragments) parts.push(this.#fragment(type, depth));
      else if (what < 3) parts.push(`... { ${this.#take(6, '__typename')} }`);
      else if (what < 7 && mayNest && object && isObjectType(inner))
        parts.push(`${this.#take(4, object.name)} ${this.#set(inner, depth + 1)}`);
      else if (leaf) parts.push(this.#take(1, leaf.name));
    }
    return `{ ${parts.join(' ')} }`;
  }

  /** One of its own, spread as often as there is room for: it spreads others in turn. */
  #fragment(type: GraphQLObjectType, depth: number): string {
    const name = `F${this.#fragments.length}`;
    // Its place is taken before what it spreads is named.
    const at = this.#fragments.push('') - 1;
    this.#fragments[at] = `fragment ${this.#take(6, name)} on ${type.name} ${this.#set(type, depth + 1)}`;
    return Array.from({ length: 1 + this.#pick(6) }, () => this.#take(2, `...${name}`)).join(' ');
  }

  #take(tokens: number, text: string): string {
    this.#tokens += tokens;
    return text;
  }
}
