// Progress output: on a terminal, a status line with a running clock, or a progress bar; elsewhere only lasting lines.

export type Say = (text: string) => void;

/** `say` replaces the status line, which only a terminal shows; `line` prints a lasting line; `end` clears the status line. */
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

/** `advance` adds to the count and redraws the bar; `clear` removes the bar before other output; `end` leaves it on the screen. */
type Progress = { advance(by: number): void; clear(): void; end(): void };

const WIDTH = 30;
const REDRAW_MS = 100;

/** `unit` names the counted items, in the plural. */
export function createProgress(
  unit: string,
  total: number,
  stream: NodeJS.WriteStream = process.stderr,
): Progress {
  let done = 0;
  let drawnTime = 0;
  const draw = () => {
    if (!stream.isTTY) return;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
    const count = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}`;
    stream.write(`\r${bar} ${Math.floor(share * 100)}%  ${count}\u001b[K`);
  };
  draw();
  return {
    advance(by) {
      done += by;
      if (Date.now() - drawnTime < REDRAW_MS) return;
      drawnTime = Date.now();
      draw();
    },
    clear() {
      if (stream.isTTY) stream.write('\r\u001b[K');
    },
    end() {
      draw();
      if (stream.isTTY) stream.write('\n');
    },
  };
}
