// A key and its requests of the last 7 days: how many by day, route and status, and the latest refused ones.
/** @import { ApiKeyWithRequests, User } from '../types.d.ts' */
import { nameOf } from '../actions/key-actions.js';
import { request } from '../api.js';
import { bars, chart } from '../charts/charts.js';
import { figure } from '../charts/figure.js';
import { h } from '../dom.js';
import { counted, day, instant, longDay, nextDay, whole } from '../format.js';
import { card, empty, shortId, table } from '../ui.js';
import { keyTable } from './keys.js';
import { learnerPage } from './learner-page.js';

export const keyView = learnerPage({
  tab: 'Keys',
  title: ({ email }) => `Key of ${email}`,
  ask: async ({ ids: [id = '', apiKeyId = ''] }) =>
    (await request('KEY', { id, apiKeyId })).user?.apiKey ?? null,
  show: (context, user, key) => [
    h('h2', {}, `Key “${nameOf(key)}”`),
    h('section', { class: 'card', 'aria-label': 'Key' }, keyTable(context, user, [key])),
    requestsADay(key),
    byRoute(key),
    refusals(user, key),
  ],
  noun: 'key',
  missing: 'The key is not available.',
});

const DAYS = 7;

/** @param {ApiKeyWithRequests} key */
function requestsADay({ requests: { counts } }) {
  const today = new Date().toISOString().slice(0, 10);
  const days = Array.from({ length: DAYS }, (_, index) => {
    const date = nextDay(today, index - DAYS + 1);
    const ofDay = counts.filter((count) => count.date === date);
    const refused = ofDay.filter(({ status }) => status !== null && status >= 400);
    return { date, requests: sumOf(ofDay), refused: sumOf(refused) };
  });
  const data = days.map(({ date, requests, refused }) => ({
    label: day(date),
    title: longDay(date),
    value: requests,
    text: `${counted(requests, 'request')}, ${whole(refused)} refused`,
  }));
  return figure({
    title: 'Requests a day',
    note: 'The last 7 days in UTC, today included',
    columns: ['Day', 'Requests', 'Refused'],
    rows: days.map(({ date, requests, refused }) => [date, requests, refused]),
    drawing: () => chart('Requests per day with this key', bars(data, 'requests')),
    nothing: counts.length === 0 && 'No request came with this key in the last 7 days.',
  });
}

/** @param {readonly { requests: number }[]} counts */
const sumOf = (counts) => counts.reduce((sum, { requests }) => sum + requests, 0);

/** @param {ApiKeyWithRequests} key */
function byRoute({ requests: { counts } }) {
  if (counts.length === 0) return null;
  const kinds = [...Map.groupBy(counts, ({ route, status }) => `${route} ${status}`).values()];
  const rows = kinds
    .map((all) => ({ all, requests: sumOf(all) }))
    .toSorted((a, b) => b.requests - a.requests)
    .map(({ all: [latest], requests }) => [
      latest?.route,
      statusOf(latest?.status ?? null),
      whole(requests),
      latest && longDay(latest.date),
    ]);
  const title = 'By route and status';
  return card(title, table(title, ['Route', 'Status', 'Requests', 'Last on'], rows));
}

/** @param {number | null} status */
const statusOf = (status) => (status === null ? 'client disconnected' : String(status));

/** @param {User} user @param {ApiKeyWithRequests} key */
function refusals({ timeZone }, { requests: { counts, refused } }) {
  if (counts.length === 0 && refused.length === 0) return null;
  const rows = refused.map(({ at, route, status, field, requestId }) => [
    instant(at, timeZone),
    route,
    String(status),
    field ?? '–',
    shortId(requestId, 'request ID'),
  ]);
  const title = 'Latest refused requests';
  const columns = ['Time', 'Route', 'Status', 'Field', 'Request'];
  return card(title, rows.length > 0 ? table(title, columns, rows, 'stacks') : empty('None was refused.'));
}
