// Finds the fields requested below a field, so that a list can prefetch them.
import {
  type FieldNode,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

type Asked = Pick<GraphQLResolveInfo, 'fragments' | 'variableValues'>;

/** The fields `name` directly below `nodes`, under any alias, unless a directive skips them. */
export function fieldsBelow(info: Asked, nodes: readonly FieldNode[], name: string): FieldNode[] {
  return allBelow(info, nodes).filter((field) => field.name.value === name);
}

/** The names of all fields directly below `nodes`. */
export function namesBelow(info: Asked, nodes: readonly FieldNode[]): string[] {
  return allBelow(info, nodes).map((field) => field.name.value);
}

function allBelow(info: Asked, nodes: readonly FieldNode[]): FieldNode[] {
  const found: FieldNode[] = [];
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (!isIncluded(info, selection)) continue;
      if (selection.kind === Kind.FIELD) {
        found.push(selection);
        continue;
      }
      // The schema has no abstract types, so every valid fragment applies.
      const set =
        selection.kind === Kind.INLINE_FRAGMENT
          ? selection.selectionSet
          : info.fragments[selection.name.value]?.selectionSet;
      if (set !== undefined) collect(set);
    }
  };
  for (const { selectionSet } of nodes) if (selectionSet !== undefined) collect(selectionSet);
  return found;
}

/** The same below the rows of a connection. */
export function rowsBelow(info: Asked, nodes: readonly FieldNode[]): FieldNode[] {
  const edges = fieldsBelow(info, nodes, 'edges');
  return [...fieldsBelow(info, nodes, 'nodes'), ...fieldsBelow(info, edges, 'node')];
}

function isIncluded({ variableValues }: Asked, node: SelectionNode): boolean {
  if (node.directives === undefined || node.directives.length === 0) return true;
  if (getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.if === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.if !== false;
}
