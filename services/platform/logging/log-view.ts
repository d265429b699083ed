// Formats JSON log lines for a terminal: one line per entry, the most important fields first.
import { isObject, parseJson, printable } from '../text.ts';

const LEVELS: Readonly<Record<number, { name: string; colour: number }>> = {
  10: { name: 'TRACE', colour: 90 },
  20: { name: 'DEBUG', colour: 90 },
  30: { name: 'INFO ', colour: 32 },
  40: { name: 'WARN ', colour: 33 },
  50: { name: 'ERROR', colour: 31 },
  60: { name: 'FATAL', colour: 31 },
};

/** Formats one line of pino's JSON, newline included; other text stays unchanged. */
export function viewLogLine(line: string, { colours }: { colours: boolean }): string {
  const entry = parseJson(line);
  if (!isObject(entry)) return line;
  const paint = (code: number, text: string) =>
    colours && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  // Only `others` are shown as name=value.
  const { level, time, name, msg, err, method, route, rpc, status, durationMs, ...others } = entry;
  const { name: levelName, colour } = LEVELS[Number(level)] ?? { name: String(level), colour: 0 };
  const rest = Object.entries(others).map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const text = [
    paint(90, new Date(Number(time)).toISOString().slice(11, 23)),
    paint(colour, levelName),
    paint(36, printable(String(name))),
    ...what(entry).map(printable),
    paint(90, printable(rest.join(' '))),
  ]
    .filter((part) => part !== '')
    .join(' ');
  return `${text}${fault(err)}\n`;
}

/** A stream for pino that writes formatted lines to `terminal`. */
export function createLogView(
  terminal: { write(text: string): unknown },
  options: { colours: boolean },
): { write(line: string): void } {
  return { write: (line) => void terminal.write(viewLogLine(line, options)) };
}

/** Method, target and status for a request or call; the message for other entries. */
function what({ msg, method, route, rpc, status, durationMs }: Record<string, unknown>): string[] {
  const target = rpc ?? route;
  if (target === undefined || durationMs === undefined)
    return [String(msg ?? ''), ...(target ? [String(target)] : [])];
  return [method, target, status ?? 'hung up', `${durationMs} ms`].flatMap((part) =>
    part ? String(part) : [],
  );
}

function fault(err: unknown): string {
  if (!isObject(err)) return '';
  const text = 'stack' in err ? String(err.stack) : JSON.stringify(err);
  return text
    .split('\n')
    .map((line) => `\n    ${printable(line)}`)
    .join('');
}
