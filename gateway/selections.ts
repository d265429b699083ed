// What a document asks for below a field, for reads that depend on it.
import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

type Field = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

/** Whether a field with one of these names stands anywhere below `field`, even where a directive leaves it out. */
export function asksForAny(names: ReadonlySet<string>, { fieldNodes, fragments }: Field): boolean {
  const seen = new Set<string>();
  const isIn = ({ selections }: SelectionSetNode): boolean =>
    selections.some((each) => {
      if (each.kind === Kind.FIELD && names.has(each.name.value)) return true;
      if (each.kind !== Kind.FRAGMENT_SPREAD)
        return each.selectionSet !== undefined && isIn(each.selectionSet);
      const fragment = fragments[each.name.value];
      if (fragment === undefined || seen.has(each.name.value)) return false;
      seen.add(each.name.value);
      return isIn(fragment.selectionSet);
    });
  return fieldNodes.some(({ selectionSet }) => selectionSet !== undefined && isIn(selectionSet));
}
