// The enumerations that the protos have as well: values and descriptions come from there. To resolvers FREE is PLAN_FREE.
import { enumerationOf } from '../../services/platform/protobuf/load.ts';

/** The names in the protos, by those in the schema. */
export const ENUMERATIONS: Readonly<Record<string, string>> = {
  EmailOffReason: 'reminders.v1.EmailOffReason',
  FsrsParameters: 'scheduling.v1.FsrsParameters',
  IntervalBand: 'scheduling.v1.IntervalBand',
  LearnerFilter: 'scheduling.v1.LearnerFilter',
  LearnerOrder: 'scheduling.v1.LearnerOrder',
  MaterialOrder: 'scheduling.v1.MaterialOrder',
  MaterialState: 'scheduling.v1.MaterialState',
  MaterialType: 'scheduling.v1.MaterialType',
  Plan: 'accounts.v1.Plan',
  Predictor: 'scheduling.v1.Predictor',
  ReminderChannel: 'reminders.v1.Channel',
  ReminderDeliveryState: 'reminders.v1.DeliveryState',
  ReminderSkipReason: 'reminders.v1.SkipReason',
  Scheduler: 'scheduling.v1.Scheduler',
  SnoozePreset: 'scheduling.v1.SnoozePreset',
  SpreadOrder: 'scheduling.v1.SpreadOrder',
  Weekday: 'reminders.v1.Weekday',
};

/** Their definitions in GraphQL's language. */
export function readEnumerations(): string {
  const texts = Object.entries(ENUMERATIONS).map(([name, proto]) => {
    const { comment, comments } = enumerationOf(proto);
    const values = valuesOf(proto).map(([value, inProto]) => `${describe(comments[inProto])}${value}`);
    return `${describe(comment)}enum ${name} {\n${values.join('\n')}\n}`;
  });
  return texts.join('\n');
}

/** For the resolvers: each value with that of the protos. */
export function enumerationResolvers(): Record<string, Record<string, string>> {
  const all = Object.entries(ENUMERATIONS).map(([name, proto]) => [
    name,
    Object.fromEntries(valuesOf(proto)),
  ]);
  return Object.fromEntries(all);
}

/** Each value as in the schema and as in the proto, without that for none. */
function valuesOf(proto: string): [string, string][] {
  const [none = '', ...names] = Object.keys(enumerationOf(proto).values);
  const { length } = none.replace(/UNSPECIFIED$/, '');
  return names.map((name) => [name.slice(length), name]);
}

const describe = (comment: string | null | undefined) =>
  `${JSON.stringify(comment?.replaceAll('\n', ' '))}\n`;
