// Where a person was at each entry of the browser's history, so that Back and a reload lead to the same place.
/** @import { Place } from './types.d.ts' */

/** Of this visit, by key. @type {Map<string, Place>} */
const places = new Map();
/** @type {Place | undefined} */
let here;
let isShown = false;

history.scrollRestoration = 'manual';
addEventListener('pagehide', () => {
  leave();
  if (here) history.replaceState(here, '');
});

/** Call at once when the address changes: until then the place that is left is still on the screen. @returns {Place} */
export function placeHere() {
  /** @type {Place | null} */
  const state = history.state;
  if (here !== undefined && here.key === state?.key) return here;
  leave();
  const isNew = { key: `${performance.timeOrigin} ${places.size}`, scrollY: null, pages: 1 };
  here = places.get(state?.key ?? '') ?? state ?? isNew;
  places.set(here.key, here);
  history.replaceState(here, '');
  return here;
}

function leave() {
  if (here && isShown) here.scrollY = scrollY;
  isShown = false;
}

/** Call when the page of `place` is on the screen; scrolls where it was left, and returns whether it did. @param {Place} place */
export function comeBack(place) {
  const isBack = place === here && !isShown && place.scrollY !== null;
  if (isBack) scrollTo(0, place.scrollY ?? 0);
  isShown = true;
  return isBack;
}
