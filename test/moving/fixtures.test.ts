// Files that other programs wrote, where the folder with them is there: FIXTURES, else beside the checkout.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFileOf } from '../support/moving.ts';

const folder = process.env.FIXTURES ?? join(import.meta.dirname, '../../../shared/fixtures');
const isThere = existsSync(folder);
if (!isThere) process.stderr.write(`Skipped: there are no files of other programs in ${folder}.\n`);

test.skipIf(!isThere).each([
  ['anki/media.apkg', 'apkg', 1, 0],
  ['anki/update1.apkg', 'apkg', 1, 0],
  ['anki/update2.apkg', 'apkg', 1, 0],
  ['anki/diffmodels2-1.apkg', 'apkg', 1, 0],
  ['anki/version3-19-cards.apkg', 'apkg', 19, 0],
  ['anki/mnemosyne-anki1.apkg', 'apkg', 7, 10],
  ['anki/templates.apkg', 'apkg', 146, 102],
  ['anki/schema16.anki2', 'apkg', 0, 0],
  ['anki/text-2fields.txt', 'csv', 7, 0],
  ['other/mnemosyne.db', 'mnemosyne', 6, 4],
  ['other/smconv.xml', 'supermemo', 3, 0],
])('%s is %s, with %i cards and %i reviews', async (file, form, cards, reviews) => {
  const read = await readFileOf(join(folder, file));
  const count = read.records.reduce((sum, { reviews: some = [] }) => sum + some.length, 0);
  expect([read.form, read.records.length, count]).toEqual([form, cards, reviews]);
  for (const { material } of read.records) expect(material?.title).toMatch(/\S/);
});

test.skipIf(!isThere)('anki/corrupt.anki2 is refused', async () => {
  await expect(readFileOf(join(folder, 'anki/corrupt.anki2'))).rejects.toThrow('damaged');
});
