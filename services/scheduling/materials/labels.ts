// Labels of a material. A slash makes levels: Spanish/Verbs lies below Spanish.

/** `Spanish/Verbs/Past` lies at three levels: Spanish, Spanish/Verbs, and itself. */
function levelsOf(label: string): string[] {
  const parts = label.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Materials that have the same labels: how many are active, and how many of these are due. */
export type LabelledMaterials = { labels: readonly string[]; active: number; due: number };
export type LabelCount = { label: string; active: number; due: number };

/** The counts of every label and of those above it, by code point. A material counts once for each. */
export function countByLabel(groups: readonly LabelledMaterials[]): LabelCount[] {
  const counts = new Map<string, LabelCount>();
  for (const { labels, active, due } of groups) {
    for (const label of new Set(labels.flatMap(levelsOf))) {
      const count = counts.get(label) ?? { label, active: 0, due: 0 };
      count.active += active;
      count.due += due;
      counts.set(label, count);
    }
  }
  return [...counts.values()].sort((a, b) => compareCodePoints(a.label, b.label));
}

/** As UTF-8 and PostgreSQL's collation "C" have it, other than UTF-16, by which strings compare. */
function compareCodePoints(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (const [index, character] of left.entries()) {
    const difference = (character.codePointAt(0) ?? 0) - (right[index]?.codePointAt(0) ?? -1);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
