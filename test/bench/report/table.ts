// The figures as a table: for the terminal, and as Markdown for docs/performance.md.
import { type Figure, isMet, median, type Spread } from '../figure.ts';
import type { Rounds } from '../measure.ts';

const HEADINGS = ['figure', 'ours', 'A+', 'A', 'ours / A+', 'ours / A', 'bar', 'aim', 'met'];
const LOAD_HEADINGS = [
  'load',
  'system',
  'CPU ms',
  'of which',
  'requests/s',
  'p50 ms',
  'p99 ms',
  'refused',
  'others',
];

export const figureRows = (figures: readonly Figure[]): string[][] => [
  HEADINGS,
  ...figures.map((figure) => [
    nameOf(figure),
    ...[figure.ours, figure.aPlus, figure.a].map((value) =>
      value === undefined ? '' : `${digits(value)} ${figure.unit}`,
    ),
    ...[figure.ratioAPlus, figure.ratioA].map(spread),
    barText(figure),
    figure.aim === undefined ? '' : `${figure.aim}`,
    { true: 'yes', false: 'no', undefined: '–' }[`${isMet(figure)}`],
  ]),
];

const nameOf = ({ label, judgedAs }: Figure) => `${label} ${judgedAs}`.trim();

/** How many bars are met, and which are not. */
export function verdict(figures: readonly Figure[], date: string): string {
  const judged = figures.filter((figure) => isMet(figure) !== undefined);
  const missed = judged.filter((figure) => !isMet(figure));
  const met = `Measured on ${date}: ${judged.length - missed.length} of ${judged.length} bars are met.`;
  return missed.length === 0 ? met : `${met} **Not met**: ${missed.map(nameOf).join('; ')}.`;
}

/** What the numbers alone do not say, a line a figure. */
export const notes = (figures: readonly Figure[]): string[] =>
  figures.flatMap((figure) => (figure.note === undefined ? [] : [`${nameOf(figure)}: ${figure.note}`]));

/** Medians over the rounds of each system. */
export const loadRows = (loads: Readonly<Record<string, Rounds>>): string[][] => [
  LOAD_HEADINGS,
  ...Object.entries(loads).flatMap(([load, rounds]) =>
    Object.entries(rounds).map(([system, each]) => {
      const of = (value: (round: (typeof each)[number]) => number) => digits(median(each.map(value)));
      const parts = Object.keys(each[0]?.cpuMsOf ?? {}).map(
        (part) => `${part} ${of((round) => round.cpuMsOf[part] ?? 0)}`,
      );
      return [
        load,
        system,
        of((round) => round.cpuMs),
        parts.join(', '),
        of((round) => round.perSecond),
        of((round) => round.p50Ms),
        of((round) => round.p99Ms),
        refused(each),
        others(each),
      ];
    }),
  ),
];

const others = (rounds: Rounds[string]) =>
  `${digits(Math.max(0, Math.round(100 * median(rounds.map(({ othersShare }) => othersShare)))))} %`;

/** Of all rounds together: what was answered, but not with 200. */
function refused(rounds: Rounds[string]): string {
  const all = rounds.reduce((sum, { answered }) => sum + answered, 0);
  const served = rounds.reduce((sum, { statuses }) => sum + (statuses[200] ?? 0), 0);
  return served === all ? '0' : `${digits((100 * (all - served)) / all)} %`;
}

export function toText(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

export function toMarkdown(rows: readonly string[][]): string {
  const [head = [], ...body] = rows;
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')}\n`;
}

/** Three digits that count, and none that do not. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)));
}

function spread(ratio: Spread | undefined): string {
  if (ratio === undefined) return '';
  return `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`;
}

function barText({ bar }: Figure): string {
  if (bar === undefined) return '';
  return 'atMost' in bar ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`;
}
