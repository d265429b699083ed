// Says what the benchmark is doing: one line that changes on a terminal, nothing elsewhere but what is worth a line.

export type Say = (text: string) => void;

export type Narrator = { say: Say; line: Say; end(): void };

export function createNarrator(stream: NodeJS.WriteStream = process.stderr): Narrator {
  const startMs = performance.now();
  const clock = () => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`;
  };
  const clear = () => {
    if (stream.isTTY) stream.write('\r\u001b[K');
  };
  return {
    say(text) {
      if (stream.isTTY) stream.write(`\r${clock()}  ${text}\u001b[K`);
    },
    line(text) {
      clear();
      stream.write(`${clock()}  ${text}\n`);
    },
    end: clear,
  };
}
