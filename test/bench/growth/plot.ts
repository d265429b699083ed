// Machines over learners as an SVG, both by powers of ten: where each need passes one machine is a wall.
import type { Figures } from './figures.ts';
import { type Need, needOf } from './model.ts';

const [WIDTH, HEIGHT] = [960, 520];
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 250, 64, 56];
const LEARNERS = { from: 1e5, to: 2e8 };
const MACHINES = { from: 0.01, to: 1000 };
const LINES: readonly { need: keyof Need; name: string; colour: string }[] = [
  { need: 'postgresByDisk', name: 'PostgreSQL, by disk after a year', colour: '#c0392b' },
  { need: 'postgresByWal', name: 'PostgreSQL, by WAL at the peak', colour: '#d9822b' },
  { need: 'postgresByCpu', name: 'PostgreSQL, by CPU at the peak', colour: '#2b7bd9' },
  { need: 'services', name: 'all services, by CPU at the peak', colour: '#2e9e5b' },
  { need: 'redisByCpu', name: 'Redis masters, by CPU', colour: '#8e5bd0' },
];

const share = (value: number, { from, to }: { from: number; to: number }) =>
  Math.log(value / from) / Math.log(to / from);
const x = (learners: number) => LEFT + share(learners, LEARNERS) * (WIDTH - LEFT - RIGHT);
const y = (machines: number) => HEIGHT - BOTTOM - share(machines, MACHINES) * (HEIGHT - TOP - BOTTOM);
const at = (place: number) => place.toFixed(1);

/** Colours that read on white and on black. */
export function toPlot(figures: Figures): string {
  const columns = [1e5, 1e6, 1e7, 1e8].map(
    (
      learners,
    ) => `<line x1="${at(x(learners))}" x2="${at(x(learners))}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" class="grid"/>
  <text x="${at(x(learners))}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${amount(learners)}</text>`,
  );
  const rows = [0.01, 0.1, 1, 10, 100, 1000].map(
    (
      machines,
    ) => `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(machines))}" y2="${at(y(machines))}" class="${machines === 1 ? 'wall' : 'grid'}"/>
  <text x="${LEFT - 8}" y="${at(y(machines) + 4)}" text-anchor="end">${machines}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Machines needed over learners">
  <style>text { font: 12px system-ui, sans-serif; fill: #808080 } .title { font-weight: 600; font-size: 15px } .grid { stroke: #808080; stroke-opacity: 0.25 } .wall { stroke: #808080; stroke-width: 2; stroke-dasharray: 5 4 }</style>
  <text x="12" y="24" class="title">Machines of 16 cores and 8 TB over learners with 20 reviews a day</text>
  <text x="12" y="44">dashed: one machine; a line that passes it is a wall; standbys not counted</text>
  ${columns.join('\n  ')}
  ${rows.join('\n  ')}
  <text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 14}" text-anchor="middle">learners</text>
  ${LINES.map((line, index) => drawn(line, index, figures)).join('\n  ')}
</svg>
`;
}

function drawn({ need, name, colour }: (typeof LINES)[number], index: number, figures: Figures): string {
  const machines = (learners: number) => needOf(learners, figures)[need];
  // Straight, since every need grows evenly; cut where it would leave the picture below.
  const from = Math.max(LEARNERS.from, (LEARNERS.from * MACHINES.from) / machines(LEARNERS.from));
  const wall = LEARNERS.from / machines(LEARNERS.from);
  const dot =
    wall > LEARNERS.from && wall < LEARNERS.to
      ? `<circle cx="${at(x(wall))}" cy="${at(y(1))}" r="5" fill="${colour}"/>`
      : '';
  const legendY = TOP + 16 + index * 40;
  return `<line x1="${at(x(from))}" y1="${at(y(machines(from)))}" x2="${at(x(LEARNERS.to))}" y2="${at(y(machines(LEARNERS.to)))}" stroke="${colour}" stroke-width="2.5"/>${dot}
  <rect x="${WIDTH - RIGHT + 16}" y="${legendY - 9}" width="12" height="12" fill="${colour}"/>
  <text x="${WIDTH - RIGHT + 34}" y="${legendY + 1}">${name}</text>
  <text x="${WIDTH - RIGHT + 34}" y="${legendY + 16}">one is enough up to ${amount(wall)}</text>`;
}

/** Two digits, with k or M for learners. */
export function amount(value: number): string {
  const [unit, name] = value >= 1e6 ? [1e6, ' M'] : value >= 1e3 ? [1e3, ' k'] : [1, ''];
  return `${Number((value / unit).toPrecision(2)).toLocaleString('en')}${name}`;
}
