// A year of reviews as a heat map: a column per week, a row per weekday, darker for more reviews.
/** @import { DayCount } from '../types.d.ts' */
import { h, svg } from '../dom.js';
import { counted, day, longDay } from '../format.js';

const STEP = 14;
const SIZE = 11;
const LEFT = 30;
const TOP = 18;
/** Room for the name of a month that begins in the last week. */
const RIGHT = 28;

/** @param {readonly DayCount[]} days Each day in order, YYYY-MM-DD. @param {(date: string) => string} hrefOf Where a click on a day leads. */
export function heatMap(days, hrefOf) {
  const level = levelsOf(days);
  const first = weekdayOf(days[0]?.date ?? '');
  const place = (/** @type {number} */ index) => ({
    x: LEFT + Math.floor((index + first) / 7) * STEP,
    y: TOP + ((index + first) % 7) * STEP,
  });
  const cells = days.map(({ date, count }, index) =>
    svg(
      'rect',
      {
        ...place(index),
        width: SIZE,
        height: SIZE,
        rx: 2,
        fill: shadeOf(level(count)),
        'data-index': index,
      },
      svg('title', {}, `${longDay(date)}: ${counted(count, 'review')}`),
    ),
  );
  const months = days.flatMap(({ date }, index) =>
    date.endsWith('-01') ? [svg('text', { x: place(index).x, y: 11 }, day(date, { month: 'short' }))] : [],
  );
  const weekdays = ['Mon', 'Wed', 'Fri'].map((name, index) =>
    svg('text', { x: 0, y: TOP + index * 2 * STEP + 9 }, name),
  );
  const width = place(days.length - 1).x + RIGHT;
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const drawing = svg(
    'svg',
    {
      width,
      height: TOP + 7 * STEP,
      viewBox: `0 0 ${width} ${TOP + 7 * STEP}`,
      role: 'img',
      'aria-label': `Reviews per day: ${counted(total, 'review')} in ${counted(days.length, 'day')}. The button “Show as table” lists the days.`,
    },
    ...[months, weekdays, cells],
  );
  drawing.addEventListener('click', ({ target, ctrlKey, metaKey }) => {
    const index = target instanceof Element ? target.getAttribute('data-index') : null;
    const clicked = index === null ? undefined : days[Number(index)];
    if (clicked === undefined) return;
    if (ctrlKey || metaKey) window.open(hrefOf(clicked.date));
    else location.hash = hrefOf(clicked.date);
  });
  return scrolled(drawing);
}

/** @param {number} level From 0 to 4. */
const shadeOf = (level) => `var(--heat-${level})`;

/** The legend of the shades. */
export function heatLegend() {
  const shade = (/** @type {number} */ level) =>
    svg(
      'svg',
      { width: SIZE, height: SIZE, 'aria-hidden': 'true' },
      svg('rect', { width: SIZE, height: SIZE, rx: 2, fill: shadeOf(level) }),
    );
  return h('p', { class: 'legend muted' }, 'Fewer', [0, 1, 2, 3, 4].map(shade), 'more');
}

/** A box that scrolls, and starts at the latest week. @param {SVGSVGElement} drawing */
function scrolled(drawing) {
  const scroller = h(
    'div',
    { class: 'scroll calendar', tabindex: '0', role: 'region', 'aria-label': 'Calendar of reviews' },
    drawing,
  );
  requestAnimationFrame(() => {
    scroller.scrollLeft = scroller.scrollWidth;
  });
  return scroller;
}

/** A level from 0 (no review) to 4, in quarters of the busiest day without rare peaks. @param {readonly DayCount[]} days */
function levelsOf(days) {
  const busy = days.flatMap(({ count }) => (count > 0 ? count : [])).toSorted((a, b) => a - b);
  const top = Math.max(busy[Math.floor(busy.length * 0.95)] ?? 1, 1);
  return (/** @type {number} */ count) => Math.min(4, Math.ceil((count / top) * 4));
}

/** 0 for Monday. @param {string} date */
const weekdayOf = (date) => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
