// Operator actions on API keys: create, rotate, revoke. A new key is shown once.
/** @import { ApiKey, Context, NewApiKey, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { checkboxes, field, instantInput, readInstant } from '../fields.js';
import { distance, instant, isVisible } from '../format.js';
import { actions, rowButtons } from '../ui.js';
import { ask, showSecret } from './dialog.js';
import { SCOPES, USUAL_SCOPES } from './scopes.js';

/** @param {Pick<ApiKey, 'name'>} key */
export const nameOf = ({ name }) => (isVisible(name) ? name : 'without a name');

/** @param {Pick<ApiKey, 'expiresAt'>} key */
export const isExpired = ({ expiresAt }) => expiresAt !== null && Date.parse(expiresAt) <= Date.now();

/** The buttons of a key; a revoked one has none. @param {Context} context @param {User} user @param {ApiKey} key */
export function keyActions(context, user, key) {
  if (key.revokedAt !== null) return null;
  const button = rowButtons(`${nameOf(key)}, ${key.id}`, key.id);
  return actions(
    button('Rotate', 'rotate', () => askRotate(context, user, key)),
    button('Revoke', 'revoke', () => askRevoke(context, user, key), { class: 'danger' }),
  );
}

/** @param {Context} context @param {User} user */
export function askCreate(context, user) {
  ask(context, {
    title: 'Create a key',
    body: [
      `For ${user.email}. The key is shown once, in the next step.`,
      field(
        'Name',
        h('input', { name: 'name', maxlength: '100' }),
        'A name to recognise it by, such as the app that uses it',
      ),
      scopes(SCOPES, USUAL_SCOPES),
      limits(user, 'never', 'anywhere'),
    ],
    submit: 'Create',
    onSubmit: async (data) => {
      const input = { userId: user.id, name: String(data.get('name')), ...grantOf(data, user) };
      const { createApiKey } = await request('CREATE_KEY', { input });
      showOnce(context, createApiKey, 'The new key');
    },
  });
}

/** @param {User} user @param {ApiKey} key */
const lastUse = ({ timeZone }, { lastUsedAt }) =>
  lastUsedAt === null
    ? 'It was never used.'
    : `It was last used ${instant(lastUsedAt, timeZone)} (${distance(lastUsedAt)}).`;

/** What becomes of the old key. @param {ApiKey} key */
function afterRotation(key) {
  if (isExpired(key)) return 'The old key has expired, and stays so.';
  const end = key.expiresAt === null ? 'you revoke it' : 'it ends or you revoke it';
  return `The old key works until ${end}, so that its app can switch first.`;
}

/** @param {Context} context @param {User} user @param {ApiKey} key */
function askRotate(context, user, key) {
  ask(context, {
    title: 'Rotate a key',
    body: [
      `Creates a replacement for “${nameOf(key)}” with the same scopes or fewer. ${afterRotation(key)}`,
      lastUse(user, key),
      scopes(key.scopes, key.scopes),
      limits(
        user,
        key.expiresAt === null ? 'never' : 'as long after its creation as the old key',
        key.allowedAddresses.join(', ') || 'anywhere',
      ),
    ],
    submit: 'Rotate',
    onSubmit: async (data) => {
      const { rotateApiKey } = await request('ROTATE_KEY', {
        input: { apiKeyId: key.id, ...grantOf(data, user) },
      });
      showOnce(context, rotateApiKey, 'The replacement');
    },
  });
}

/** @param {Context} context @param {User} user @param {ApiKey} key */
function askRevoke(context, user, key) {
  ask(context, {
    title: 'Revoke a key',
    body: [
      `“${nameOf(key)}” (${key.id}) stops working immediately and permanently. Apps that use it lose access.`,
      lastUse(user, key),
    ],
    submit: 'Revoke permanently',
    isDangerous: true,
    onSubmit: async () => {
      await request('REVOKE_KEY', { input: { apiKeyId: key.id } });
      return `Revoked: ${nameOf(key)}`;
    },
  });
}

/** The fields of when a key ends and from where it may be used. @param {User} user @param {string} end Without an end. @param {string} from Without addresses. */
const limits = ({ timeZone }, end, from) => [
  field('Ends', instantInput('end'), `On the learner’s clock (${timeZone}). Left empty: ${end}.`),
  field(
    'Allowed addresses',
    h('input', { name: 'addresses', placeholder: '203.0.113.0/24, 2001:db8::/32' }),
    `Addresses or ranges, separated by commas. Left empty: ${from}.`,
  ),
];

/** What the key may do, from where, and until when. @param {FormData} data @param {User} user */
function grantOf(data, { timeZone }) {
  const end = data.get('end');
  return {
    scopes: data.getAll('scope').map(String),
    allowedAddresses: String(data.get('addresses'))
      .split(/[\s,]+/)
      .filter(Boolean),
    ...(end && { expiresAt: readInstant(end, timeZone) }),
  };
}

/** At least one, since an empty list means the default scopes. @param {readonly string[]} all @param {readonly string[]} chosen */
function scopes(all, chosen) {
  return checkboxes({
    legend: 'Scopes',
    name: 'scope',
    chosen,
    whenNone: 'Choose at least one scope.',
    options: all.map((scope) => [scope, scope]),
  });
}

/** @param {Context} context @param {NewApiKey} made @param {string} title */
function showOnce(context, { key, apiKey }, title) {
  const label = `Key “${nameOf(apiKey)}”`;
  showSecret(context, { title, label, secret: key, help: apiKey.scopes.join(', ') });
}
