// The login: at the OpenID provider if the gateway has one, or with a gateway token. Keeps the URL for the way back.

import { submits } from '../actions/dialog.js';
import { UnauthorizedError } from '../api.js';
import { h } from '../dom.js';
import { field } from '../fields.js';
import { session } from '../login/session.js';
import { findProvider, leaveToSignIn } from '../login/sign-in.js';
import { button, explain } from '../ui.js';

/**
 * @param {string} reason Why the person is not in; empty at first.
 * @param {boolean} inNewTab Whether to sign in there, since this page has input to keep.
 * @param {() => Promise<void>} onToken Tries the token, and shows the page.
 */
export function loginView(reason, inNewTab, onToken) {
  const input = h('input', {
    type: 'password',
    name: 'token',
    id: 'token',
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const problem = h('p', { class: 'problem', role: 'alert' }, reason);
  const send = h('button', { type: 'submit', class: 'primary' }, 'Log in');
  const people = h('div', { class: 'sign-in' });
  void findProvider().then(
    (provider) => {
      if (provider === null) return;
      const name = new URL(provider.authorizationEndpoint).host;
      people.append(
        button(
          `Sign in at ${name}${inNewTab ? ' in a new tab' : ''}`,
          () =>
            leaveToSignIn(provider, inNewTab).catch((error) => {
              problem.textContent = error.message;
            }),
          { class: 'primary' },
        ),
        h(
          'small',
          { class: 'muted' },
          `This logs you in on all tabs of this browser until the last tab is closed or reloaded. Logging out leaves you signed in at ${name}.`,
        ),
      );
      send.classList.remove('primary');
    },
    () => people.append('The OpenID provider does not answer. Reload the page to try again.'),
  );
  const form = h(
    'form',
    { class: 'card login' },
    h('h1', { tabindex: '-1' }, 'Learning dashboard'),
    problem,
    people,
    field(
      'Gateway token',
      input,
      'This logs you in on all tabs of this browser until the last one is closed. “npm start” prints its token, or the file that has it.',
    ),
    send,
  );
  submits(form, { send, problem }, async () => {
    session.use(input.value.trim(), false);
    try {
      await onToken();
    } catch (error) {
      session.forget();
      problem.textContent =
        error instanceof UnauthorizedError
          ? 'The gateway does not know this token. Copy the whole token and nothing else.'
          : explain(error);
      input.select();
    }
  });
  return form;
}
