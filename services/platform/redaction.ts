// Keeps API keys out of logs and messages, in which some callers send theirs in place of an ID or a name.

const PREFIX = 'rmk_live_';
const KEY = new RegExp(`${PREFIX}\\w+`, 'g');

export function containsKey(text: string): boolean {
  return text.includes(PREFIX);
}

/** `text` with "…" in place of the secret part of each key. */
export function withoutKeys(text: string): string {
  return text.replaceAll(KEY, `${PREFIX}…`);
}
