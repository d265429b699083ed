// A progress bar on standard error; silent if standard error is not a terminal.

type Progress = { advance(by: number): void; end(): void };

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
    end() {
      draw();
      if (stream.isTTY) stream.write('\n');
    },
  };
}
