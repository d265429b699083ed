// What a full run of the faults writes into docs: every measured figure, and which promises are not kept.
import type { Figure } from './figures.ts';

const isKept = ({ measured, bar }: Figure) => measured <= bar;

/** How many are kept, and a line for each that is not. */
export function toVerdict(figures: readonly Figure[], date: string): string {
  const broken = figures.filter((figure) => !isKept(figure));
  const kept = `Measured on ${date}: ${figures.length - broken.length} of ${figures.length} times and shares are kept.`;
  if (broken.length === 0) return kept;
  const lines = broken.map(
    ({ promise, measured, bar, unit, over }) =>
      `- ${promise}: ${format(measured)} ${unit}, promised ${format(bar)} ${unit} (${over})`,
  );
  return [`${kept} **Not kept**:`, '', ...lines].join('\n');
}

export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { promise, measured, bar, unit, over } = figure;
    const kept = isKept(figure) ? 'yes' : '**no**';
    return `| ${promise} | ${format(measured)} ${unit} | ${format(bar)} ${unit} | ${kept} | ${over} |`;
  });
  return ['| promise | measured | promised | kept | conditions |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

const format = (value: number) => String(Number(value.toPrecision(3)));
