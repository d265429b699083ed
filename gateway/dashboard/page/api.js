// All network access of the page: GraphQL requests with the token of the login.
/** @import { Data, Name, Variables } from './types.d.ts' */

import { fieldName } from './format.js';
import { session } from './login/session.js';
import { DOCUMENTS } from './queries.js';

/** The token is missing, wrong or expired. */
export class UnauthorizedError extends Error {}

/** Any other failure, with advice. */
export class FailedCallError extends Error {
  /** @param {string} message What happened. @param {string} advice What to do. @param {{ code?: string | undefined, requestId?: string | null }} [of] The API's code, and under which ID the logs have it. */
  constructor(message, advice, { code = '', requestId = null } = {}) {
    super(message);
    this.advice = advice;
    this.code = code;
    this.requestId = requestId;
  }
}

/**
 * Sends a document of queries.js; what changes nothing is retried after a quick transient failure, a change is not.
 * @template {Name} N
 * @param {N} name
 * @param {Variables<N>} variables
 * @returns {Promise<Data<N>>}
 * @throws {UnauthorizedError | FailedCallError}
 */
export async function request(name, variables) {
  const query = DOCUMENTS[name];
  // A dry run is a mutation that changes nothing.
  const { input } = /** @type {{ input?: { dryRun?: boolean } }} */ (variables);
  const isChange = query.startsWith('mutation') && !input?.dryRun;
  const requestOnce = async () => {
    const response = await reach('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(name === 'DELETE_USER' ? DELETE_TIMEOUT_MS : TIMEOUT_MS),
      ...(isChange && { unreached: `Check that you are online. ${LOOK_FIRST}` }),
    });
    return dataOf(response, isChange ? LOOK_FIRST : TRY_AGAIN);
  };
  for (const delayMs of isChange ? [] : RETRY_DELAYS_MS) {
    const beginMs = performance.now();
    try {
      return await requestOnce();
    } catch (error) {
      if (!(error instanceof FailedCallError) || error.code !== 'UNAVAILABLE') throw error;
      // A service that hangs is asked once: the rest of the page waits for it.
      if (performance.now() - beginMs > HANGS_MS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
  return requestOnce();
}

const RETRY_DELAYS_MS = [400, 1600];
/** Less than the gateway gives a service. */
const HANGS_MS = 2000;
const TIMEOUT_MS = 15_000;
/** A learner can have many materials. */
const DELETE_TIMEOUT_MS = 150_000;

const ONLINE = 'Check that it is running and that you are online, then try again.';
/** Of a change, which may be made though its answer is lost or a service answers too late. */
const LOOK_FIRST = 'The change may have been made anyway: reload the page, and check before you try again.';

const TRY_AGAIN = 'Wait a moment, then try again. If the problem persists, check the gateway’s log.';

/**
 * Saves what the gateway answers at a path as a file. It is streamed, so its length is not known before.
 * @param {string} path
 * @param {string} name Of the file.
 * @returns {Promise<void>}
 * @throws {UnauthorizedError | FailedCallError}
 */
export async function download(path, name) {
  const response = await reach(path);
  // The answer says why there is no file.
  if (!response.ok) return dataOf(response);
  const file = await response.blob().catch(() => {
    throw new FailedCallError('The answer broke off, so no file was saved.', TRY_AGAIN);
  });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Asks the gateway with the token. @param {string} path @param {RequestInit & { headers?: Record<string, string>, unreached?: string }} [options] `unreached`: the advice where no answer comes. */
async function reach(path, { headers, unreached = ONLINE, ...options } = {}) {
  const token = session.token();
  // Each token is printable ASCII. With some other characters fetch fails, as if the gateway did not answer.
  if (!/^[ -~]*$/.test(token ?? '')) throw new UnauthorizedError('The token is not valid.');
  const withToken = { ...headers, authorization: `Bearer ${token ?? ''}` };
  const response = await fetch(path, { ...options, headers: withToken }).catch(() => {
    throw new FailedCallError('The gateway cannot be reached.', unreached);
  });
  if (response.status === 401) throw new UnauthorizedError('The token is not valid.');
  return response;
}

/** The data of an answer in GraphQL's format. @param {Response} response @param {string} [whenLost] The advice where nobody knows what was done. @throws {FailedCallError} */
async function dataOf(response, whenLost = TRY_AGAIN) {
  const { data, errors } = await response.json().catch(() => ({}));
  if (errors?.[0]) throw toFailure(errors[0], response.headers.get('x-request-id'), whenLost);
  if (!data)
    throw new FailedCallError(
      response.ok ? 'The gateway’s answer cannot be read.' : `The gateway answered HTTP ${response.status}.`,
      whenLost,
    );
  return data;
}

/** A message that begins with the gateway's name of a field, in the words of the forms. @param {string} message @param {string} field */
function inWords(message, field) {
  if (!message.startsWith(`${field} `)) return message;
  const words = fieldName(field);
  return words.charAt(0).toUpperCase() + words.slice(1) + message.slice(field.length);
}

/**
 * @param {{ message: string, extensions?: { code?: string, field?: string, retryAfterSeconds?: number } }} error
 * @param {string | null} requestId
 * @param {string} whenUnavailable
 */
function toFailure({ message, extensions = {} }, requestId, whenUnavailable) {
  const { code, field = '', retryAfterSeconds } = extensions;
  /** @type {Record<string, string>} */
  const advice = {
    UNAVAILABLE: whenUnavailable,
    REVIEW_NOT_LATEST: 'Undo the later one first.',
    MATERIAL_CHANGED: 'Its schedule stays as it is.',
    REVIEW_TOO_OLD: 'Its schedule stays as it is.',
    NOT_FOUND: 'It may have been removed. Reload the page.',
    RATE_LIMITED: retryAfterSeconds
      ? `Try again in ${Math.ceil(retryAfterSeconds / 60)} min.`
      : 'Wait a while, then try again.',
    INSUFFICIENT_SCOPE: 'Log in with a token whose role is operator.',
    INVALID_REQUEST: 'Correct your input, then try again.',
    INVALID_SCOPE: 'Choose other scopes, then try again.',
  };
  const whenUnknown = 'The error is in the gateway’s log. Ask its operator to look there.';
  // When to try again is in the advice: it would be wrong for a change that may have been made.
  const text = inWords(message, field).replace(/ Try again in a moment\.$/, '');
  return new FailedCallError(text, advice[code ?? ''] ?? whenUnknown, { code, requestId });
}
