// The login: one token for all tabs of this browser, as long as one of them is open.
//
// Each tab keeps a gateway token in its sessionStorage, and a person's token from the OpenID provider in memory alone. A new tab
// asks the others over a BroadcastChannel, which only pages of this origin can hear. The browser never sends the token by itself,
// as it would a cookie, so a stranger's page cannot use it; and unlike in localStorage, none is left once the last tab is closed.
const KEY = 'gateway-token';
/** In localStorage a random number for the latest logout; in each tab's sessionStorage the number at its login. */
const LOGOUT_KEY = 'logout';
/** How long a new tab waits for another before it shows the login. A later answer still logs it in. */
const WAIT_MS = 250;

/** A person's token. @type {string | null} */
let personal = null;

const channel = new BroadcastChannel('gateway-login');
const events = new EventTarget();

const latestLogout = () => localStorage.getItem(LOGOUT_KEY) ?? '';
// A tab receives no logout while its page is not loaded.
if ((sessionStorage.getItem(LOGOUT_KEY) ?? '') !== latestLogout()) sessionStorage.removeItem(KEY);

/** Whether the gateway has accepted the token: only such a one is passed on. */
let isAccepted = sessionStorage.getItem(KEY) !== null;

/** Tokens that have expired, which other tabs may still have. @type {Set<string | null>} */
const refused = new Set();

export const session = {
  /** null: nobody is logged in. */
  token: () => personal ?? sessionStorage.getItem(KEY),

  /** Resolves when the token of another tab is here, or none has answered. */
  found: new Promise((resolve) => {
    if (isAccepted) return resolve(undefined);
    events.addEventListener('login', resolve, { once: true });
    setTimeout(resolve, WAIT_MS);
    channel.postMessage({ kind: 'asked' });
  }),

  /** Uses a token in this tab. @param {string} token @param {boolean} isPersonal From the OpenID provider. */
  use(token, isPersonal) {
    isAccepted = false;
    if (isPersonal) personal = token;
    else {
      sessionStorage.setItem(KEY, token);
      sessionStorage.setItem(LOGOUT_KEY, latestLogout());
    }
  },

  /** Tells all tabs that the gateway has accepted the token. */
  accept() {
    if (isAccepted) return;
    isAccepted = true;
    sendToken(true);
  },

  /** Forgets the token in this tab. */
  forget() {
    isAccepted = false;
    personal = null;
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(LOGOUT_KEY);
  },

  /** The gateway no longer accepts the token: forgets it, and takes another one from a tab that has logged in again. */
  expire() {
    refused.add(session.token());
    session.forget();
    channel.postMessage({ kind: 'asked' });
  },

  /** Logs out all tabs. */
  end() {
    localStorage.setItem(LOGOUT_KEY, `${Math.random()}`);
    session.forget();
    channel.postMessage({ kind: 'ended' });
  },

  /** Calls back when another tab has logged in or out. @param {'login' | 'logout'} what @param {() => void} listener */
  on: (what, listener) => events.addEventListener(what, listener),
};

/** @param {boolean} isNew Whether somebody has just logged in with it. */
function sendToken(isNew) {
  channel.postMessage({ kind: 'token', token: session.token(), isPersonal: personal !== null, isNew });
}

channel.addEventListener('message', ({ data: { kind, token, isPersonal, isNew } }) => {
  if (kind === 'asked' && isAccepted) sendToken(false);
  if (kind === 'token' && session.token() === null && (isNew || !refused.has(token))) {
    session.use(token, isPersonal);
    isAccepted = true;
    events.dispatchEvent(new Event('login'));
  }
  if (kind === 'ended' && session.token() !== null) {
    session.forget();
    events.dispatchEvent(new Event('logout'));
  }
});
