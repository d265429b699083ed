// Types of the page: requests and responses of the documents in queries.js, the content of elements, and the global library.
import type { Operations } from '../../../generated/gateway/dashboard-operations.ts';

declare global {
  const Chart: typeof import('chart.js').Chart;
}

/** The content of an element: strings become text, never markup. */
export type Child = Node | string | number | null | undefined | false | readonly Child[];

export type Route = { path: string; pattern: string; ids: readonly string[]; params: URLSearchParams };
export type Caller = Data<'CALLER'>['caller'];
export type Context = {
  route: Route;
  caller: Caller;
  /** Whether to show actions; the gateway checks the role independently. */
  mayChange: boolean;
  /** Reloads the page's data, unless another page is shown by now. */
  refresh: () => Promise<void>;
  place: Place;
};
/** An entry of the history. `scrollY`: where it was left, in px; null if it was not. `pages`: those loaded of a list. */
export type Place = { key: string; scrollY: number | null; pages: number };
export type View = { title: string; content: Child };

/** The name of a document in queries.js. */
export type Name = keyof Operations;
export type Data<N extends Name> = Operations[N]['data'];
export type Variables<N extends Name> = Operations[N]['variables'];

export type Overview = NonNullable<Data<'OVERVIEW'>['user']>;
export type Prediction = NonNullable<Data<'PREDICTION'>['user']>['stats']['prediction'];
export type PredictorScore = Prediction['scores'][number];
export type Predictor = PredictorScore['predictor'];
export type Count = Overview['both']['retention']['days'][number]['count'];
export type DayCount = Overview['year']['activity']['days'][number];
export type Day = NonNullable<Data<'DAY'>['user']>;
export type User = NonNullable<Data<'USER'>['user']>;
export type AllLearners = Data<'HOME'>['overview'];
export type Learners = Data<'LEARNERS'>['learners'];
export type LearnerRow = Learners['nodes'][number];
export type SearchHit = Data<'SEARCH'>['search'][number];
export type PageInfo = Data<'USERS'>['list']['pageInfo'];
export type List<N> = { nodes: readonly N[]; pageInfo: PageInfo };
export type Materials = NonNullable<Data<'MATERIALS'>['user']>;
export type MaterialRow = Materials['materials']['nodes'][number];
export type LabelCount = NonNullable<Data<'LABELS'>['user']>['labels'][number];
export type Material = NonNullable<Data<'MATERIAL'>['material']>;
export type Review = Material['reviews']['nodes'][number];
export type ApiKeys = NonNullable<Data<'KEYS'>['user']>['apiKeys'];
export type ApiKey = ApiKeys['nodes'][number];
export type ApiKeyWithRequests = NonNullable<NonNullable<Data<'KEY'>['user']>['apiKey']>;
export type NewApiKey = Data<'CREATE_KEY'>['createApiKey'];
export type Reminders = NonNullable<Data<'REMINDERS'>['user']>;
export type Reminder = Reminders['reminders'][number];
export type ReminderChannel = Reminder['channels'][number];
export type Weekday = Reminder['weekdays'][number];
export type EmailReminders = Reminders['emailReminders'];
export type PushSubscriptionRow = Reminders['pushSubscriptions'][number];
export type Delivery = Reminders['reminderDeliveries']['nodes'][number];
export type LearnerSettings = NonNullable<Data<'SETTINGS'>['user']>['settings'];
export type SettingsPreview = NonNullable<Data<'SETTINGS_PREVIEW'>['user']>['settingsPreview'];
export type Timeline = NonNullable<Data<'TIMELINE'>['user']>['timeline'];
export type TimelineEvent = Timeline['nodes'][number];
export type TimelineKind = Timeline['missing'][number]['kind'];
export type SnoozePreset = NonNullable<Variables<'SNOOZE'>['input']['preset']>;
export type Spread = NonNullable<Data<'SPREAD_BACKLOG'>['spreadBacklog']>;
export type SpreadOrder = NonNullable<Variables<'SPREAD_BACKLOG'>['input']['order']>;
