// Configures Chart.js: colours of the style sheet, tooltips, and drawing after the canvas is in the document.
/** @typedef {import('chart.js').ChartConfiguration<any, any, any>} Config */
/** @typedef {(color: (name: string) => string) => Config} ConfigOf */

/** @type {{ canvas: HTMLCanvasElement, configOf: ConfigOf }[]} */
let places = [];

/** Creates a canvas that `drawCharts` draws. @param {string} name @param {ConfigOf} configOf */
export function chart(name, configOf) {
  const canvas = document.createElement('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${name}. The button “Table” shows its figures.`);
  places.push({ canvas, configOf });
  return canvas;
}

/** Draws the charts on the page in the current colours; drops those that were removed. */
export function drawCharts() {
  const style = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  for (const { canvas } of places) Chart.getChart(canvas)?.destroy();
  places = places.filter(({ canvas }) => canvas.isConnected);
  Chart.defaults.color = color('muted');
  Chart.defaults.borderColor = color('line');
  Chart.defaults.font.family = style.fontFamily;
  for (const { canvas, configOf } of places) new Chart(canvas, configOf(color));
}

/**
 * The options of all charts.
 * @param {string} unit Of the vertical axis.
 * @param {(index: number) => { title: string, text: string }} figures The tooltip.
 */
function options(unit, figures) {
  /** @typedef {import('chart.js').TooltipItem<any>} Item */
  const of = (/** @type {Item | undefined} */ item) => figures(item?.dataIndex ?? 0);
  return {
    animation: false,
    maintainAspectRatio: false,
    interaction: { mode: 'index', intersect: false },
    plugins: {
      legend: { display: false },
      tooltip: {
        displayColors: false,
        callbacks: {
          title: (/** @type {Item[]} */ items) => of(items[0]).title,
          label: (/** @type {Item} */ item) => of(item).text,
        },
      },
    },
    scales: {
      x: { grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 12 } },
      y: { beginAtZero: true, title: { display: true, text: unit }, ticks: { precision: 0 } },
    },
  };
}

/**
 * @typedef {{ label: string, value: number | null, title?: string, text: string, color?: string }} Datum
 * `text`: the tooltip; `color`: overrides the default.
 */

/** @param {readonly Datum[]} data @param {string} unit @param {number} [max] @returns {ConfigOf} */
export function bars(data, unit, max) {
  return (color) => {
    const common = options(unit, (index) => told(data[index]));
    return {
      type: 'bar',
      data: {
        labels: data.map(({ label }) => label),
        datasets: [
          {
            data: data.map(({ value }) => value),
            backgroundColor: data.map((datum) => color(datum.color ?? 'accent')),
            borderRadius: 3,
            maxBarThickness: 48,
          },
        ],
      },
      options: max === undefined ? common : withMax(common, max),
    };
  };
}

/** A line with gaps for missing values. @param {readonly Datum[]} data @param {string} unit @param {number} max @returns {ConfigOf} */
export function line(data, unit, max) {
  return (color) => ({
    type: 'line',
    data: {
      labels: data.map(({ label }) => label),
      datasets: [
        {
          data: data.map(({ value }) => value),
          borderColor: color('accent'),
          backgroundColor: color('accent'),
          borderWidth: 2,
          pointRadius: 2,
          clip: false,
        },
      ],
    },
    options: withMax(
      options(unit, (index) => told(data[index])),
      max,
    ),
  });
}

const HALF_DAY_MS = 43_200_000;

/** Sets ticks on days instead of round numbers of milliseconds. @param {import('chart.js').Scale} axis */
function setEvenTicks(axis) {
  const step = (axis.max - axis.min) / 6;
  axis.ticks = [0, 1, 2, 3, 4, 5, 6].map((index) => ({ value: axis.min + index * step }));
}

/**
 * A line through points in time. Failed reviews are triangles, so that colour is not the only sign.
 * @param {readonly (Datum & { timeMs: number, quality: number })[]} data
 * @param {string} unit
 * @param {(timeMs: number) => string} dayOf
 * @returns {ConfigOf}
 */
export function history(data, unit, dayOf) {
  return (color) => {
    const common = options(unit, (index) => told(data[index]));
    const colors = data.map(({ quality }) => color(`grade-${quality}`));
    const times = data.map(({ timeMs }) => timeMs);
    const [first = 0, last = 0] = [Math.min(...times), Math.max(...times)];
    const margin = Math.max((last - first) * 0.03, HALF_DAY_MS);
    const range = { min: first - margin, max: last + margin };
    const ticks = {
      ...common.scales.x.ticks,
      callback: (/** @type {number | string} */ value) => dayOf(Number(value)),
    };
    return {
      type: 'line',
      data: {
        datasets: [
          {
            data: data.map(({ timeMs, value }) => ({ x: timeMs, y: value })),
            borderColor: color('line-strong'),
            borderWidth: 1.5,
            pointBackgroundColor: colors,
            pointBorderColor: colors,
            pointStyle: data.map(({ quality }) => (quality < 3 ? 'triangle' : 'circle')),
            pointRadius: 6,
            pointHoverRadius: 8,
            clip: false,
          },
        ],
      },
      options: {
        ...common,
        interaction: { mode: 'nearest', intersect: false },
        scales: {
          ...common.scales,
          x: { ...common.scales.x, ...range, type: 'linear', ticks, afterBuildTicks: setEvenTicks },
          y: { ...common.scales.y, grace: '10%' },
        },
      },
    };
  };
}

/** @param {Datum | undefined} datum */
function told(datum) {
  return { title: datum?.title ?? datum?.label ?? '', text: datum?.text ?? '' };
}

/** @param {ReturnType<typeof options>} common @param {number} max */
function withMax(common, max) {
  return { ...common, scales: { ...common.scales, y: { ...common.scales.y, max } } };
}
