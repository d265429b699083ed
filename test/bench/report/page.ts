// Fills the parts of a page that a program writes: what stands between <!-- NAME --> and <!-- /NAME -->.
import { readFileSync, writeFileSync } from 'node:fs';

/** @throws Error where `page` lacks a part. */
export function fillParts(page: string, parts: Readonly<Record<string, string>>): string {
  let filled = page;
  for (const [name, text] of Object.entries(parts)) {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const from = filled.indexOf(begin);
    const to = filled.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`the page has no part ${begin} … ${end}`);
    filled = `${filled.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${filled.slice(to)}`;
  }
  return filled;
}

export function fillFile(file: string, parts: Readonly<Record<string, string>>): void {
  writeFileSync(file, fillParts(readFileSync(file, 'utf8'), parts));
}
