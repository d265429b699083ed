// The plot of a soak: what each process holds over time, and how long requests took.

export type Series = { name: string; points: readonly { minute: number; value: number }[] };
export type Panel = { title: string; unit: string; series: readonly Series[] };

const [WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 220, 64, 120, 40, 36];
/** Apart in hue and in lightness, so that they are told apart without colours too. */
const COLOURS = ['#1f4e9c', '#c2410c', '#15803d', '#7e22ce'];

/** Panels below one another, over one axis of minutes. */
export function plotSvg(title: string, panels: readonly Panel[]): string {
  const height = TOP + panels.length * (PANEL_HEIGHT + BOTTOM);
  const bodies = panels.map((panel, index) => drawPanel(panel, TOP + index * (PANEL_HEIGHT + BOTTOM)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${LEFT}" y="20" font-size="15" font-weight="bold">${title}</text>
${bodies.join('\n')}
</svg>
`;
}

function drawPanel({ title, unit, series }: Panel, top: number): string {
  const points = series.flatMap(({ points }) => points);
  const lastMinute = Math.max(1, ...points.map(({ minute }) => minute));
  const ceiling = niceCeiling(Math.max(...points.map(({ value }) => value)));
  const x = (minute: number) => LEFT + (minute / lastMinute) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => top + 20 + (1 - value / ceiling) * (PANEL_HEIGHT - 40);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = y(share * ceiling).toFixed(1);
    return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#d4d4d8"/><text x="${LEFT - 6}" y="${at}" text-anchor="end" dominant-baseline="middle">${share * ceiling}</text>`;
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const minute = Math.round(share * lastMinute * 10) / 10;
    return `<text x="${x(minute).toFixed(1)}" y="${top + PANEL_HEIGHT}" text-anchor="middle">${minute} min</text>`;
  });
  const lines = series.map(({ name, points: own }, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = own.map(({ minute, value }) => `${x(minute).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    const last = own.at(-1);
    const label = last
      ? `<text x="${WIDTH - RIGHT + 6}" y="${y(last.value).toFixed(1)}" fill="${colour}" dominant-baseline="middle">${name}</text>`
      : '';
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>${label}`;
  });
  const heading = `<text x="${LEFT}" y="${top + 8}">${title} (${unit})</text>`;
  return [heading, ...grid, ...ticks, ...lines].join('\n');
}

/** 1, 2 or 5 times a power of ten, not below `value`. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
