// Reads our JSONL form, as an export writes it or as a script does: then a material needs no more than a title.
import { hash } from 'node:crypto';
import type { MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { SettingsVersionInput } from '../../../generated/scheduling/v1/SettingsVersion.ts';
import { isObject, parseJson } from '../../platform/text.ts';
import { toError } from '../../platform/thrown.ts';
import { readLines } from '../lines.ts';
import { REVIEWS_OF_RECORD } from '../record.ts';
import { unreadable } from '../unreadable.ts';
import { BASELINE, fromLine, MATERIAL, REVIEW, SETTINGS, type Shape, SNOOZE_OF_MATERIAL } from './fields.ts';
import { FORMAT_VERSION } from './write.ts';

/** A material's texts have 768 KiB at most; JSON may need several characters for one. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const CUT_OFF = 'The file is cut off: its last line is missing. Export it again.';

type Line = Readonly<Record<string, unknown>>;

/**
 * The records of the file at `path`. `addSettings` gets the versions of the learner's settings.
 * @throws INVALID_REQUEST with its number for an invalid line, and for a file without its last line.
 */
export async function* readJsonl(
  path: string,
  { addSettings = () => {} }: { addSettings?(version: SettingsVersionInput): void } = {},
): AsyncGenerator<MaterialRecordInput> {
  let number = 0;
  let current: MaterialRecordInput | undefined;
  let end: 'none' | 'expected' | 'seen' = 'none';
  const counts = { materials: 0, reviews: 0, snoozes: 0 };
  for await (const text of readLines(path, MAX_LINE_BYTES)) {
    number += 1;
    if (text.trim() === '') continue;
    if (end === 'seen') throw unreadable(`Line ${number} comes after the end of the collection.`);
    const line = parsed(text, number);
    const read = (shape: Shape, values: Line = line) => {
      try {
        return fromLine(shape, values);
      } catch (error) {
        throw unreadable(`Line ${number}: ${toError(error).message}.`);
      }
    };
    if (line.kind === 'collection') {
      if (number > 1 || line.version !== FORMAT_VERSION)
        throw unreadable(`Line ${number} begins a collection of a version that this program does not know.`);
      end = 'expected';
    } else if (line.kind === 'settings') {
      if (counts.materials > 0) throw unreadable(`Line ${number}: settings must come before the materials.`);
      addSettings(read(SETTINGS));
    } else if (line.kind === 'material') {
      if (current !== undefined) yield current;
      counts.materials += 1;
      current = materialOf(line, read);
    } else if (line.kind === 'review' || line.kind === 'snooze') {
      if (current === undefined)
        throw unreadable(`Line ${number}: a ${line.kind} comes before its material.`);
      if ((current.reviews?.length ?? 0) + (current.snoozes?.length ?? 0) >= REVIEWS_OF_RECORD) {
        yield { ...current, continues: true };
        current = { reviews: [], snoozes: [] };
      }
      counts[line.kind === 'review' ? 'reviews' : 'snoozes'] += 1;
      if (line.kind === 'review') current.reviews?.push(reviewOf(read(REVIEW)));
      else current.snoozes?.push(read(SNOOZE_OF_MATERIAL));
    } else if (line.kind === 'end') {
      end = 'seen';
      for (const [name, count] of Object.entries(counts))
        if (line[name] !== count)
          throw unreadable(`Line ${number} says ${name}: ${line[name]}, but the file has ${count}.`);
    } else {
      // Other values are not quoted: JSON.stringify fails for deeply nested arrays.
      if (typeof line.kind !== 'string')
        throw unreadable(`Line ${number} has no kind, or one that is not a text.`);
      throw unreadable(`Line ${number} has an unknown kind: ${JSON.stringify(line.kind.slice(0, 50))}.`);
    }
  }
  if (end === 'expected') throw unreadable(CUT_OFF);
  if (current !== undefined) yield current;
}

function parsed(text: string, number: number): Line {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw unreadable(`Line ${number} is not a JSON object. Nothing was imported.`);
}

function materialOf(line: Line, read: (shape: Shape, values?: Line) => object): MaterialRecordInput {
  const material = read(MATERIAL) as NonNullable<MaterialRecordInput['material']>;
  const { source, baseline } = line;
  const isOurs = material.materialId !== undefined;
  return {
    material,
    source: typeof source === 'string' ? source : isOurs ? '' : sourceOf(material.title ?? ''),
    ...(isObject(baseline) && { baseline: read(BASELINE, baseline) }),
    reviews: [],
    snoozes: [],
  };
}

/** The source of a material that has neither an ID nor a source. */
function sourceOf(title: string): string {
  return `jsonl:${hash('sha256', title).slice(0, 32)}`;
}

/** Without an ID, the instant tells a review from the material's others. */
function reviewOf(review: Record<string, unknown>) {
  const { seconds = 0, nanos = 0 } = (review.reviewTime ?? {}) as { seconds?: number; nanos?: number };
  return { reviewId: `${seconds}.${nanos}`, ...review };
}
