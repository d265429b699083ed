// The login with a gateway token; keeps the URL, so that the user returns to the same page.

import { field } from '../actions/dialog.js';
import { token, UnauthorizedError } from '../api.js';
import { h } from '../dom.js';
import { adviceOf } from '../ui.js';

/** @param {boolean} hasExpired @param {() => Promise<void>} onToken Resolves once the gateway has accepted the token. */
export function loginView(hasExpired, onToken) {
  const input = h('input', {
    type: 'password',
    name: 'token',
    id: 'token',
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const problem = h('p', { class: 'problem', role: 'alert' });
  if (hasExpired)
    problem.textContent = 'The token is no longer valid. Enter another to continue where you were.';
  const form = h(
    'form',
    { class: 'card login' },
    h('h1', { tabindex: '-1' }, 'Learning dashboard'),
    field(
      'Gateway token',
      input,
      'It stays in this tab. “npm start” prints its token, or the file that has it.',
    ),
    problem,
    h('button', { type: 'submit', class: 'primary' }, 'Log in'),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    token.set(input.value.trim());
    try {
      await onToken();
    } catch (error) {
      token.forget();
      problem.textContent =
        error instanceof UnauthorizedError
          ? 'The gateway does not know this token. Copy the whole token and nothing else.'
          : `${error instanceof Error ? error.message : error} ${adviceOf(error)}`;
      input.select();
    }
  });
  return form;
}
