// The ratios as a bar chart in SVG: how much ours takes where the baseline takes 1, with the bar that is to be met.
import { type Figure, isMet } from '../figure.ts';
import { digits } from './table.ts';

const WIDTH = 1000;
const LEFT = 490;
const RIGHT = 90;
const ROW_HEIGHT = 34;
const TOP = 76;
/** A bar that is longer ends here, and only its number tells: it must not squeeze the others. */
const MOST_SHOWN = 4;

/** Only what is held against a bar as a ratio; colours that read on white and on black. */
export function toChart(figures: readonly Figure[]): string {
  const shown = figures.filter(({ judged, judgedAs }) => judged !== undefined && judgedAs.startsWith('/'));
  const values = shown.flatMap((figure) => [figure.judged ?? 0, barOf(figure) ?? 0]);
  const most = Math.min(MOST_SHOWN, Math.max(1, ...values));
  const x = (value: number) => LEFT + (Math.min(value, most) / most) * (WIDTH - LEFT - RIGHT);
  const height = TOP + shown.length * ROW_HEIGHT + 16;
  const grid = `<line x1="${x(1)}" x2="${x(1)}" y1="${TOP - 12}" y2="${height - 12}" stroke="#888" stroke-dasharray="3 3"/>
  <text x="${x(1)}" y="${TOP - 18}" text-anchor="middle" class="small">the other = 1</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Ratios of this service to the baselines">
  <style>text { font: 13px system-ui, sans-serif; fill: #808080 } .small { font-size: 11px } .title { font-weight: 600; font-size: 15px }</style>
  <text x="12" y="24" class="title">This service against what it is compared with</text>
  <text x="12" y="42" class="small">bar: measured; mark: the bar to meet (blue where met, orange where not)</text>
  ${grid}
  ${shown.map((figure, index) => barLine(figure, TOP + index * ROW_HEIGHT, x)).join('\n  ')}
</svg>
`;
}

function barLine(figure: Figure, y: number, x: (value: number) => number): string {
  const { judged = 0, label, judgedAs } = figure;
  const colour = isMet(figure) === false ? '#d9822b' : '#2b7bd9';
  const mark = barOf(figure);
  const markLine =
    mark === undefined
      ? ''
      : `<line x1="${x(mark)}" x2="${x(mark)}" y1="${y}" y2="${y + 22}" stroke="#808080" stroke-width="3"/>`;
  return `<text x="${LEFT - 10}" y="${y + 16}" text-anchor="end">${toXml(`${label} ${judgedAs}`)}</text>
  <rect x="${LEFT}" y="${y + 2}" width="${Math.max(1, x(judged) - LEFT)}" height="18" rx="2" fill="${colour}"/>${markLine}
  <text x="${Math.max(x(judged), x(mark ?? 0)) + 8}" y="${y + 16}">${digits(judged)}${judged > MOST_SHOWN ? ' →' : ''}</text>`;
}

function barOf({ bar }: Figure): number | undefined {
  if (bar === undefined) return undefined;
  return 'atMost' in bar ? bar.atMost : bar.atLeast;
}

const toXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
