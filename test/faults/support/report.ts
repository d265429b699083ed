// What a full run of the faults writes into docs: every measured figure, and which promises are not kept.
import type { Figure } from './figures.ts';

const isKept = ({ measured, bar }: Figure) => measured <= bar;

/** How many are within their promise, and a line for each that is not. */
export function toVerdict(figures: readonly Figure[], date: string): string {
  const broken = figures.filter((figure) => !isKept(figure));
  const within = `Measured on ${date}: ${figures.length - broken.length} of the ${figures.length} figures in [the table](#times) are within their promise.`;
  if (broken.length === 0) return within;
  const lines = broken.map(
    ({ promise, measured, bar, unit, over }) =>
      `- ${promise}. Measured: ${amount(measured, unit)}; promised: at most ${amount(bar, unit)} (${over})`,
  );
  return [`${within} **Not kept**:`, '', ...lines].join('\n');
}

export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { promise, measured, bar, unit, over } = figure;
    const kept = isKept(figure) ? 'yes' : '**no**';
    return `| ${promise} | ${amount(measured, unit)} | ${amount(bar, unit)} | ${kept} | ${over} |`;
  });
  return ['| figure | measured | at most | kept | conditions |', '|---|---|---|---|---|', ...rows].join('\n');
}

const amount = (value: number, unit: Figure['unit']) => {
  const rounded = Number(value.toPrecision(3)).toLocaleString('en', { maximumSignificantDigits: 3 });
  return unit === 'ratio' ? rounded : `${rounded} ${unit}`;
};
