// What happened to a learner: one line an event, newest first.
/** @import { Child, Context, Route, Timeline, TimelineEvent, TimelineKind, User } from '../types.d.ts' */
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { choice } from '../fields.js';
import { filterForm, keepFilters } from '../filters.js';
import { instant } from '../format.js';
import { loadedPages, showList } from '../older.js';
import { missingPart } from '../parts.js';
import { empty, muted, saveButtons, shortId, table } from '../ui.js';
import { learnerPage } from '../views/learner-page.js';
import { undoButton } from './undo.js';
import { actorName, KINDS, wordsOf } from './words.js';

export const timelineView = learnerPage({
  tab: 'Timeline',
  title: ({ email }) => `Timeline of ${email}`,
  ask: async ({ path, ids: [id = ''], params }, place) => {
    keepFilters(`#/${path}`, params);
    const kinds = chosenKinds(params);
    const { user: asked } = await request('TIMELINE', { id, kinds });
    if (asked === null) return null;
    const { missing: gaps } = asked.timeline;
    const pages = await loadedPages(place, asked.timeline, (after) => older(id, kinds, gaps, after));
    return { ...pages, missing: gaps };
  },
  above: filters,
  show: (context, user, timeline) => {
    const kinds = chosenKinds(context.route.params);
    return [
      missing(context, timeline),
      timeline.nodes.length > 0
        ? [events(context, user, kinds, timeline), downloads(user, kinds)]
        : nothing(context.route, kinds, timeline),
    ];
  },
  missing: 'The timeline is not available.',
});

/** Buttons that save all events of the chosen kinds. @param {User} user @param {readonly TimelineKind[]} kinds */
function downloads({ id, email }, kinds) {
  const query = new URLSearchParams(kinds.map((kind) => ['kind', kind]));
  const what = kinds.length > 0 ? 'Save all of these kinds:' : 'Save all:';
  return saveButtons(what, `/exports/users/${id}/timeline`, query, `${email}-timeline`);
}

/** @param {URLSearchParams} params @returns {TimelineKind[]} Empty for all. */
const chosenKinds = (params) =>
  /** @type {TimelineKind[]} */ (Object.keys(KINDS)).filter((kind) => params.getAll('kind').includes(kind));

/** @param {Route} route */
function filters({ path, params }) {
  const chosen = chosenKinds(params);
  const boxes = Object.entries(KINDS).map(([value, name]) => {
    const checked = chosen.some((kind) => kind === value);
    return choice(name, { name: 'kind', value, checked, id: `filter-${value}` });
  });
  const fields = h('fieldset', { class: 'choices' }, h('legend', {}, 'Show only'), boxes);
  return filterForm(`#/${path}`, 'card bar', fields);
}

/** @param {Context} context @param {Timeline} timeline */
function missing({ refresh }, { missing: gaps }) {
  const [first] = gaps;
  if (first === undefined) return null;
  const error = new FailedCallError('', LATER, { requestId: first.requestId });
  return missingPart(notAvailable(gaps), error, refresh, 'The rest is shown.');
}

const LATER = 'Wait a moment, then try again.';

/** @param {Timeline['missing']} gaps */
const notAvailable = (gaps) => `${gaps.map(({ kind }) => KINDS[kind]).join(', ')}: not available.`;

/** @param {Route} route @param {readonly TimelineKind[]} kinds @param {Timeline} timeline @returns {Child} */
function nothing({ path }, kinds, { missing: gaps }) {
  if (gaps.length > 0) return null;
  if (kinds.length > 0)
    return empty('There is no such event.', h('a', { href: `#/${path}` }, 'Show all events'));
  return empty('Nothing has happened to this learner yet.');
}

/**
 * The events after a cursor.
 * @param {string} id
 * @param {TimelineKind[]} kinds
 * @param {Timeline['missing']} gaps Parts that are missing already.
 * @param {string | null} after
 * @throws {FailedCallError} where another part would be missing.
 */
async function older(id, kinds, gaps, after) {
  const { user } = await request('TIMELINE', { id, kinds, after });
  if (user === null) throw new FailedCallError('The learner has been removed.', 'Reload the page.');
  const { nodes, pageInfo, missing: now } = user.timeline;
  const unknown = now.filter(({ kind }) => !gaps.some((gap) => gap.kind === kind));
  if (unknown.length > 0)
    throw new FailedCallError(notAvailable(unknown), LATER, {
      code: 'UNAVAILABLE',
      requestId: unknown[0]?.requestId ?? null,
    });
  return { nodes, pageInfo };
}

/** The events, with a button that loads older ones. @param {Context} context @param {User} user @param {TimelineKind[]} kinds @param {Timeline} timeline */
function events(context, user, kinds, timeline) {
  const section = h('section', { class: 'card timeline', 'aria-label': 'Events' });
  showList(section, context.place, timeline, {
    label: 'Load older events',
    older: (after) => older(user.id, kinds, timeline.missing, after),
    show: (known, button) => [
      list(context, user, known),
      button,
      muted('Keys, reminders and what operators did are kept for 90 days.'),
    ],
  });
  return section;
}

/** @param {Context} context @param {User} user @param {readonly TimelineEvent[]} known */
function list(context, user, known) {
  return table(
    'Timeline',
    ['Time', 'Event', 'By', 'Request'],
    known.map((event) => [
      instant(event.at, user.timeZone),
      h('span', { class: 'break' }, wordsOf(user, event)),
      actorName(event),
      event.requestId && shortId(event.requestId, 'request ID'),
    ]),
    'stacks',
    context.mayChange && known.map((event) => undoButton(context, user, event, known)),
  );
}
