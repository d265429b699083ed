// Validates snooze fields as the proto files document; each error names its field.
import { invalidField } from '../../platform/errors.ts';
import { fromTimestamp, type Timestamp } from '../../platform/protobuf/timestamps.ts';
import { codePointLength } from '../../platform/text.ts';
import { readMaterialIds, requireStorable } from '../requests.ts';

const MAX_REASON_CODE_POINTS = 500;

export function requireReason(reason: string): string {
  if (codePointLength(requireStorable('reason', reason)) > MAX_REASON_CODE_POINTS) {
    throw invalidField('reason', `must have at most ${MAX_REASON_CODE_POINTS} characters.`);
  }
  return reason;
}

/** 1 to 100 IDs without duplicates; malformed IDs are kept and match no material. */
export function requireDistinctMaterialIds(materialIds: readonly string[]): readonly string[] {
  const distinct = readMaterialIds(materialIds);
  if (distinct.length < materialIds.length) {
    throw invalidField('material_ids', 'must not name a material twice.');
  }
  return distinct;
}

export function requireFuture(snoozeUntilTime: Timestamp, now: Date): Date {
  const time = fromTimestamp(snoozeUntilTime);
  if (time <= now) throw invalidField('snooze_until_time', 'must be later than now.');
  return time;
}
