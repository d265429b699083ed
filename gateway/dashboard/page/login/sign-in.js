// Signs people in at the OpenID provider, by an authorization code with PKCE (RFC 7636). The token stays in memory.

import { session } from './session.js';

/** In sessionStorage, what the redirect back needs; useless without the authorization code. */
const KEY = 'sign-in';
const REDIRECT_URI = `${location.origin}/dashboard/`;

/** @typedef {{ authorizationEndpoint: string, clientId: string, scope: string }} SignInSettings */

/**
 * @returns {Promise<SignInSettings | null>} null: the gateway takes tokens only.
 * @throws {Error} where the provider, or the gateway, does not answer.
 */
export async function findProvider() {
  const response = await fetch('/oidc/settings');
  if (!response.ok) throw new Error(`The gateway answered HTTP ${response.status}.`);
  return (await response.json()).provider;
}

/**
 * Leaves for the provider's page.
 * @param {SignInSettings} settings
 * @param {boolean} inNewTab Leaves this page as it is: the new tab passes the token on, and is then closed.
 * @throws {Error} over plain http, or where the browser opens no tab, with a message for people.
 */
export async function leaveToSignIn({ authorizationEndpoint, clientId, scope }, inNewTab) {
  // Browsers offer it over https and on loopback only.
  if (crypto.subtle === undefined)
    throw new Error('This page came over http, so the browser cannot sign you in. Open it over https.');
  const [codeVerifier, state] = [randomText(), randomText()];
  sessionStorage.setItem(KEY, JSON.stringify({ codeVerifier, state, hash: location.hash }));
  // A new tab gets a copy of sessionStorage. Browsers open one only in direct response to a click.
  const tab = inNewTab ? window.open('') : window;
  if (tab === null)
    throw new Error('The browser has blocked the new tab. Allow pop-ups for this page, then try again.');
  if (inNewTab) {
    // Keeps the provider's page from navigating this one.
    tab.opener = null;
    session.on('login', () => tab.close());
  }
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  const url = new URL(authorizationEndpoint);
  const query = {
    client_id: clientId,
    response_type: 'code',
    scope,
    redirect_uri: REDIRECT_URI,
    state,
    code_challenge: toBase64Url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  tab.location.assign(url);
}

/**
 * Exchanges the code with which the provider has sent the browser back, and restores the address.
 * @returns {Promise<string | undefined>} The token; undefined if nobody comes from the provider.
 * @throws {Error} whose message says why the person is not in.
 */
export async function returnFromProvider() {
  const answer = new URLSearchParams(location.search);
  if (!answer.has('code') && !answer.has('error')) return undefined;
  const { codeVerifier, state, hash = '' } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  sessionStorage.removeItem(KEY);
  history.replaceState(null, '', `${location.pathname}${hash}`);
  if (!codeVerifier || answer.get('state') !== state)
    throw new Error('This sign-in was not begun in this tab. Begin again.');
  const code = answer.get('code');
  if (code === null)
    throw new Error('The provider has not signed you in. Begin again, or ask its administrator.');
  const response = await fetch('/oidc/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, codeVerifier, redirectUri: REDIRECT_URI }),
  }).catch(() => undefined);
  const { token, errors } = (await response?.json().catch(() => undefined)) ?? {};
  if (errors?.[0]?.extensions?.code === 'UNAVAILABLE')
    throw new Error('The OpenID provider does not answer. Begin again in a moment.');
  if (!response?.ok) throw new Error(errors?.[0]?.message ?? 'The gateway has not answered. Begin again.');
  return token;
}

function randomText() {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param {Uint8Array} bytes */
function toBase64Url(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
