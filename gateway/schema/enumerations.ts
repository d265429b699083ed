// The enumerations that the protos have as well. To resolvers their values are the protos': PLAN_FREE for FREE.
import { type DocumentNode, Kind } from 'graphql';

/** What the names of the protos' values begin with. */
export const PREFIXES: Readonly<Record<string, string>> = {
  EmailOffReason: 'EMAIL_OFF_REASON_',
  FsrsParameters: 'FSRS_PARAMETERS_',
  IntervalBand: 'INTERVAL_BAND_',
  LearnerFilter: 'LEARNER_FILTER_',
  LearnerOrder: 'LEARNER_ORDER_',
  MaterialOrder: 'MATERIAL_ORDER_',
  MaterialState: 'MATERIAL_STATE_',
  MaterialType: 'MATERIAL_TYPE_',
  Plan: 'PLAN_',
  Predictor: 'PREDICTOR_',
  ReminderChannel: 'CHANNEL_',
  ReminderDeliveryState: 'DELIVERY_STATE_',
  ReminderSkipReason: 'SKIP_REASON_',
  Scheduler: 'SCHEDULER_',
  SnoozePreset: 'SNOOZE_PRESET_',
  SpreadOrder: 'SPREAD_ORDER_',
  Weekday: 'WEEKDAY_',
};

/** For each of these enumerations in `schema`, its values with the protos'. */
export function enumerationsOf({ definitions }: DocumentNode): Record<string, Record<string, string>> {
  const found = definitions.flatMap((each) => {
    const prefix = PREFIXES[each.kind === Kind.ENUM_TYPE_DEFINITION ? each.name.value : ''];
    if (each.kind !== Kind.ENUM_TYPE_DEFINITION || prefix === undefined) return [];
    const values = (each.values ?? []).map(({ name: { value } }) => [value, `${prefix}${value}`]);
    return [[each.name.value, Object.fromEntries(values)]];
  });
  return Object.fromEntries(found);
}
