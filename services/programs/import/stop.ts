// Ctrl-C in an import: while the file is read it ends the program, later it waits for the card in progress.

/** npm passes on the Ctrl-C of a terminal, so that one comes twice, at once. */
const ONE_MS = 1000;
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Once `wait` is called, the first signal makes `isAsked` true, and only a later one ends the program. */
export function stopOnSignals(): { wait(): void; isAsked(): boolean } {
  let isWaiting = false;
  let askedMs: number | undefined;
  for (const [name, code] of Object.entries(EXIT_CODES))
    process.on(name, () => {
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
