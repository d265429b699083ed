// What a file's reader leaves out or changes, and why.
import { beginningOf } from '../platform/text.ts';

type Kind = 'material' | 'review' | 'note';

/** Records how a card is changed by the import. */
export type Note = (reason: string) => void;

/** One reason, how often, and the first five it applies to. */
export type Reason = { reason: string; count: number; examples: string[] };

export type Findings = ReturnType<typeof createFindings>;

const MAX_EXAMPLES = 5;
const MAX_EXAMPLE_LENGTH = 120;

/** Counts findings by reason. A `note` is about something that is imported with a change. */
export function createFindings() {
  const reasons = new Map<string, Reason>();
  const left = { material: 0, review: 0, note: 0 };
  return {
    left,
    add(kind: Kind, reason: string, example = '', count = 1) {
      if (count === 0) return;
      left[kind] += count;
      const known = reasons.get(reason) ?? { reason, count: 0, examples: [] };
      reasons.set(reason, known);
      known.count += count;
      if (example !== '' && known.examples.length < MAX_EXAMPLES)
        known.examples.push(beginningOf(example.toWellFormed(), MAX_EXAMPLE_LENGTH));
    },
    /** The most frequent first. */
    reasons: () => [...reasons.values()].sort((a, b) => b.count - a.count),
  };
}
