// Maps between snoozes and the messages of scheduling.v1.
import type { SnoozeInput } from '../../../generated/scheduling/v1/Snooze.ts';
import type { SnoozePreset as SnoozePresetMessage } from '../../../generated/scheduling/v1/SnoozePreset.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/protobuf/timestamps.ts';
import { fromEnum } from '../mapper.ts';
import type { SnoozePreset } from './presets.ts';
import type { ListedSnooze } from './snooze-lists-repository.ts';

/** undefined if absent. */
export const fromSnoozePreset = fromEnum<SnoozePresetMessage, SnoozePreset | undefined>('preset', {
  SNOOZE_PRESET_UNSPECIFIED: undefined,
  SNOOZE_PRESET_ONE_HOUR: '1h',
  SNOOZE_PRESET_TONIGHT: 'tonight',
  SNOOZE_PRESET_TOMORROW: 'tomorrow',
});

export function toSnoozeMessage(snooze: Omit<ListedSnooze, 'revision'>): SnoozeInput {
  return {
    snoozeId: snooze.snoozeId,
    materialIds: [...snooze.materialIds],
    snoozeUntilTime: toTimestamp(snooze.snoozeUntilTime),
    reason: snooze.reason,
    createTime: toTimestamp(snooze.createTime),
    actor: snooze.actor,
    requestId: snooze.requestId,
    cancelTime: toOptionalTimestamp(snooze.cancelTime),
    cancellableMaterials: snooze.cancellableMaterials,
  };
}
