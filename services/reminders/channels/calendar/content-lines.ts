// The lines of iCalendar: RFC 5545, sections 3.1 and 3.3.11.

const MAX_OCTETS = 75;

/** Joins lines with CRLF, each folded so that none is longer than 75 octets, and never within a character. */
export function toContent(lines: readonly string[]): string {
  return lines.map((line) => `${fold(line)}\r\n`).join('');
}

/** For a value of type TEXT. */
export function escapeText(text: string): string {
  return text.replace(/[\\;,]/g, '\\$&').replace(/\r\n|\r|\n/g, '\\n');
}

function fold(line: string): string {
  let folded = '';
  let octets = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (octets + size > MAX_OCTETS) {
      folded += '\r\n ';
      // The space counts.
      octets = 1;
    }
    folded += character;
    octets += size;
  }
  return folded;
}
