// What an import says at its end.
import type { Reason } from '../../moving/findings.ts';
import { counted } from '../../platform/process/command.ts';
import { printable } from '../../platform/text.ts';
import type { Counts, Outcome } from './send.ts';

/** How many materials are there now, as far as is known; in a dry run, would be. */
export const stored = ({ materials }: Outcome) => materials.new + materials.changed + materials.unchanged;

/** What is said where an import ends early. */
export function goOn(outcome: Outcome, dryRun: boolean): string {
  const after = `Stopped after ${counted(stored(outcome), 'material')}`;
  if (dryRun) return `${after}; nothing was changed.`;
  return `${after}, which are stored. Run the same command again to go on.`;
}

/** For people. */
export function summary(
  { materials, reviews }: Outcome,
  reasons: readonly Reason[],
  { dryRun, time }: { dryRun: boolean; time: string },
): string {
  const line = (name: string, { new: added, changed, unchanged, left }: Counts) =>
    `${name}: ${[`${format(added)} new`, `${format(changed)} changed`, `${format(unchanged)} unchanged`, `${format(left)} left out`].join(', ')}\n`;
  const why = reasons.map(
    ({ reason, count, examples }) =>
      `  ${format(count)} × ${reason}${examples.length > 0 ? ` (${examples.map((each) => printable(each)).join('; ')})` : ''}\n`,
  );
  const isEmpty = Object.values(materials).every((count) => count === 0);
  return (
    (isEmpty ? 'There is no card in the file.\n' : '') +
    (dryRun ? 'This is what would happen; nothing was changed.\n' : '') +
    line('Materials', materials) +
    line('Reviews', reviews) +
    (why.length > 0 ? `Left out, or changed on the way:\n${why.join('')}` : '') +
    `Took ${time}.\n`
  );
}

const format = (count: number) => count.toLocaleString('en');

const PROBLEMS: Readonly<Record<string, string>> = {
  TITLE: 'the title is empty, longer than 240 characters, or holds U+0000',
  TEXT: 'the content is longer than 262,144 bytes, or holds U+0000',
  SOURCE_URL: 'the source URL is not a URI: stored without it',
  LABEL: 'labels that are not valid, or more than 20: stored without them',
  SCHEDULE: 'the schedule is impossible',
  TIME: 'an instant is outside the years 1970 to 9997',
  QUALITY: 'the quality is not 0 to 5',
  ID: 'the ID or source is not valid',
  DUPLICATE: 'it is there twice',
  HISTORY: 'it is not part of the history of the material',
  DRIFT: 'the schedule does not follow from the history, which begins anew with it',
  TOO_MANY: 'more than 100,000 reviews of a material',
};

/** What scheduling found wrong, as a reason of ours. */
export function toReason({ kind, count, examples }: Outcome['problems'][number]): Reason {
  const name = kind.replace('IMPORT_PROBLEM_KIND_', '');
  return { reason: PROBLEMS[name] ?? name.toLowerCase(), count, examples };
}
