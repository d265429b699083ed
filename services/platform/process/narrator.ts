// Says what a program is doing: on a terminal one line with a running clock, elsewhere nothing but what is worth a line.

export type Say = (text: string) => void;

/** `end` clears the line and stops the clock. */
export type Narrator = { say: Say; line: Say; end(): void };

const TICK_MS = 1000;

export function createNarrator(stream: NodeJS.WriteStream = process.stderr): Narrator {
  const startMs = performance.now();
  let ticking: NodeJS.Timeout | undefined;
  let current = '';
  const clock = () => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`;
  };
  const draw = () => void stream.write(`\r${clock()}  ${current}\u001b[K`);
  const clear = () => {
    if (stream.isTTY) stream.write('\r\u001b[K');
  };
  return {
    say(text) {
      current = text;
      if (!stream.isTTY) return;
      ticking ??= setInterval(draw, TICK_MS).unref();
      draw();
    },
    line(text) {
      clear();
      stream.write(`${clock()}  ${text}\n`);
    },
    end() {
      if (ticking === undefined) return;
      clearInterval(ticking);
      ticking = undefined;
      clear();
    },
  };
}
