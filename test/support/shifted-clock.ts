// A wrong clock of one process: NODE_OPTIONS that shift Date by so many milliseconds.

/** `aheadMs`: negative for a clock that is behind. */
export function shiftedClock(aheadMs: number): string {
  const preloaded = `const real = Date;
globalThis.Date = class extends real {
  constructor(...given) { super(...(given.length > 0 ? given : [real.now() + ${aheadMs}])); }
  static now() { return real.now() + ${aheadMs}; }
};`;
  return `--import=data:text/javascript,${encodeURIComponent(preloaded)}`;
}
