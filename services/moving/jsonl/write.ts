// Our own JSONL: an object per line, `kind` first. It contains all that scheduling stores about a user, and nothing that identifies them.
import type { MaterialRecord } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { SettingsVersion } from '../../../generated/scheduling/v1/SettingsVersion.ts';
import { BASELINE, MATERIAL, REVIEW, SETTINGS, type Shape, SNOOZE_OF_MATERIAL, toLine } from './fields.ts';

export const FORMAT_VERSION = 1;

/** A message of ExportUserData with `whole`. */
export type Exported = { wholeMaterial?: MaterialRecord | null; settings?: SettingsVersion | null };

/**
 * The lines of an export, each with its line break. The first names the format; then come the versions of settings, and each material
 * before its reviews and snoozes. The last has the counts, so that a truncated file is noticed.
 */
export async function* writeJsonl(exported: AsyncIterable<Exported>): AsyncGenerator<string> {
  const counts = { materials: 0, reviews: 0, snoozes: 0 };
  yield line({ kind: 'collection', version: FORMAT_VERSION });
  let isContinued = false;
  for await (const { wholeMaterial, settings } of exported) {
    if (settings) yield lineOf('settings', SETTINGS, settings);
    if (!wholeMaterial) continue;
    const { material, source, baseline, reviews, snoozes, continues } = wholeMaterial;
    let lines = '';
    if (material !== null && !isContinued) {
      counts.materials += 1;
      const from = source === '' ? {} : { source };
      const begun = baseline === null ? {} : { baseline: toLine(BASELINE, baseline) };
      lines += line({ kind: 'material', ...toLine(MATERIAL, material), ...from, ...begun });
    }
    isContinued = continues;
    counts.reviews += reviews.length;
    counts.snoozes += snoozes.length;
    lines += reviews.map((review) => lineOf('review', REVIEW, review)).join('');
    lines += snoozes.map((snooze) => lineOf('snooze', SNOOZE_OF_MATERIAL, snooze)).join('');
    yield lines;
  }
  yield line({ kind: 'end', ...counts });
}

const line = (value: object) => `${JSON.stringify(value)}\n`;
const lineOf = (kind: string, shape: Shape, message: object) => line({ kind, ...toLine(shape, message) });
