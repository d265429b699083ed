// Configures Chart.js: colours of the style sheet, tooltips, and drawing after the canvas is in the document.
/** @typedef {import('chart.js').ChartConfiguration<any, any, any>} Config */
/** @typedef {(color: (name: string) => string) => Config} ConfigOf */

/** @type {{ canvas: HTMLCanvasElement, configOf: ConfigOf }[]} */
let places = [];

/** Creates a canvas that `drawCharts` draws. @param {string} name @param {ConfigOf} configOf */
export function chart(name, configOf) {
  const canvas = document.createElement('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${name}. The button “Show as table” shows its figures.`);
  places.push({ canvas, configOf });
  return canvas;
}

/** Draws the charts on the page in the current colours; drops those that were removed. */
export function drawCharts() {
  // A variable has the colours of light and dark; what is painted with it, that of now.
  const probe = document.body.appendChild(document.createElement('span'));
  const color = (/** @type {string} */ name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  for (const { canvas } of places) Chart.getChart(canvas)?.destroy();
  places = places.filter(({ canvas }) => canvas.isConnected);
  Chart.defaults.color = color('muted');
  Chart.defaults.borderColor = color('line');
  Chart.defaults.font.family = getComputedStyle(probe).fontFamily;
  for (const { canvas, configOf } of places) new Chart(canvas, configOf(color));
  probe.remove();
}

/**
 * The options of all charts.
 * @param {string} unit Of the vertical axis.
 * @param {readonly { title: string, text: string }[]} data What the tooltips say.
 * @param {number} [max] Of the vertical axis.
 */
export function options(unit, data, max) {
  /** @typedef {import('chart.js').TooltipItem<any>} Item */
  return {
    animation: false,
    maintainAspectRatio: false,
    interaction: { mode: 'index', intersect: false },
    plugins: {
      legend: { display: false },
      tooltip: {
        displayColors: false,
        callbacks: {
          title: (/** @type {Item[]} */ [item]) => data[item?.dataIndex ?? 0]?.title ?? '',
          label: (/** @type {Item} */ { dataIndex }) => data[dataIndex]?.text ?? '',
        },
      },
    },
    scales: {
      x: { grid: { display: false }, ticks: { maxRotation: 0, autoSkip: true, autoSkipPadding: 12 } },
      y: { beginAtZero: true, max, title: { display: true, text: unit }, ticks: { precision: 0 } },
    },
  };
}

/**
 * @typedef {{ label: string | string[], value: number | null, title: string, text: string, color?: string }} Datum
 * `label`: one line or several; `title` and `text`: the tooltip; `color`: overrides the default.
 */

/** @param {'bar' | 'line'} type @param {readonly Pick<Datum, 'label' | 'title' | 'text'>[]} data @param {string} unit @param {object[]} datasets @param {number} [max] @returns {Config} */
const withAxes = (type, data, unit, datasets, max) => ({
  type,
  data: { labels: data.map(({ label }) => label), datasets },
  options: options(unit, data, max),
});

/** So many bars have room for their labels on a phone, too. */
const ALL_LABELLED = 5;

/** @param {readonly Datum[]} data @param {string} unit @param {number} [max] @returns {ConfigOf} */
export function bars(data, unit, max) {
  return (color) => {
    const dataset = {
      data: data.map(({ value }) => value),
      backgroundColor: colorsOf(data, color),
      borderRadius: 3,
      maxBarThickness: 48,
    };
    const drawn = withAxes('bar', data, unit, [dataset], max);
    drawn.options.scales.x.ticks.autoSkip = data.length > ALL_LABELLED;
    return drawn;
  };
}

/** @param {readonly Datum[]} data @param {(name: string) => string} color */
const colorsOf = (data, color) => data.map((datum) => color(datum.color ?? 'accent'));

/**
 * Two bars for each day: on the left as it is, in the colour of the forecast; on the right as it would be.
 * @param {readonly { label: string, title: string, before: number, after: number, text: string }[]} data
 * @param {string} unit
 * @returns {ConfigOf}
 */
export function beforeAndAfter(data, unit) {
  return (color) => {
    const dataset = (/** @type {'before' | 'after'} */ of, /** @type {string} */ name) => ({
      data: data.map((each) => each[of]),
      backgroundColor: color(name),
      borderRadius: 3,
      maxBarThickness: 24,
    });
    return withAxes('bar', data, unit, [dataset('before', 'accent'), dataset('after', 'after')]);
  };
}

/**
 * Bars for each day, and a line for their sum so far on an axis of its own.
 * @param {readonly (Datum & { sum: number })[]} data
 * @param {string} unit
 * @returns {ConfigOf}
 */
export function barsWithSum(data, unit) {
  return (color) => {
    const config = bars(data, unit)(color);
    config.data.datasets[0].order = 1;
    config.data.datasets.push({
      type: 'line',
      data: data.map(({ sum }) => sum),
      yAxisID: 'sum',
      borderColor: color('muted'),
      borderWidth: 2,
      pointRadius: 0,
      stepped: 'middle',
    });
    const title = { display: true, text: `${unit} in all` };
    config.options.scales.sum = {
      position: 'right',
      beginAtZero: true,
      grid: { display: false },
      title,
      ticks: { precision: 0 },
    };
    config.options.plugins.tooltip.filter = (/** @type {{ datasetIndex: number }} */ item) =>
      item.datasetIndex === 0;
    return config;
  };
}

/** A line with gaps for missing values. @param {readonly Datum[]} data @param {string} unit @param {number} max @returns {ConfigOf} */
export function line(data, unit, max) {
  return (color) => {
    const colors = colorsOf(data, color);
    const dataset = {
      data: data.map(({ value }) => value),
      pointBackgroundColor: colors,
      pointBorderColor: colors,
      segment: {
        borderColor: (/** @type {{ p1DataIndex: number }} */ { p1DataIndex }) => colors[p1DataIndex],
      },
      borderWidth: 2,
      pointRadius: 3,
      clip: false,
    };
    return withAxes('line', data, unit, [dataset], max);
  };
}
