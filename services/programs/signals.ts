// How commands handle SIGINT, SIGTERM and SIGHUP.

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** Signals within this time count as one: npm forwards the Ctrl-C of a terminal, so it arrives twice. */
const ONE_MS = 1000;

/** Makes a signal call process.exit, which runs exit handlers; without a listener, Node would end without them. */
export function exitOnSignals(): void {
  onSignals((code) => process.exit(code));
}

/** Once `wait` is called, the first signal makes `isAsked` true, and only a later one ends the command. */
export function stopOnSignals(): { wait(): void; isAsked(): boolean } {
  let isWaiting = false;
  let askedMs: number | undefined;
  onSignals((code) => {
    askedMs ??= performance.now();
    if (!isWaiting || performance.now() - askedMs > ONE_MS) process.exit(code);
  });
  return {
    wait() {
      isWaiting = true;
    },
    isAsked: () => askedMs !== undefined,
  };
}

function onSignals(act: (code: number) => void): void {
  for (const [name, code] of Object.entries(EXIT_CODES)) process.on(name, () => act(code));
}
