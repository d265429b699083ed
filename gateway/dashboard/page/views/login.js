// Asks for a gateway token; the address stays what it was, so that one comes back to where one was.
import { token, UnauthorizedError } from '../api.js';
import { field } from '../dialog.js';
import { h } from '../dom.js';
import { adviceOf } from '../ui.js';

/** @param {boolean} hasExpired @param {() => Promise<void>} onToken Resolves once the token is found to be good. */
export function loginView(hasExpired, onToken) {
  const input = h('input', {
    ...{
      type: 'password',
      name: 'token',
      id: 'token',
      required: true,
      autocomplete: 'off',
      spellcheck: 'false',
    },
  });
  const problem = h('p', { class: 'problem', role: 'alert' });
  if (hasExpired)
    problem.textContent = 'The token is not valid any more. Put in another to go on where you were.';
  const form = h(
    'form',
    { class: 'card login' },
    h('h1', { tabindex: '-1' }, 'Learning dashboard'),
    field('Gateway token', input, 'It stays in this tab. “npm start” prints its own, or where it is kept.'),
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
          ? 'The gateway does not know this token. Copy all of it, and nothing else.'
          : `${error instanceof Error ? error.message : error} ${adviceOf(error)}`;
      input.select();
    }
  });
  return form;
}
