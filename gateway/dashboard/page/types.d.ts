// Types of the gateway's responses (gateway/schema), and of the globally loaded library.
declare global {
  const Chart: typeof import('chart.js').Chart;
}

/** The content of an element: strings become text, never markup. */
export type Child = Node | string | number | null | undefined | false | readonly Child[];

export type Route = { path: readonly string[]; params: URLSearchParams };
export type Caller = { name: string; role: 'VIEWER' | 'OPERATOR' };
export type Context = {
  route: Route;
  caller: Caller;
  /** Whether to show actions; the gateway checks the role independently. */
  mayChange: boolean;
  /** Reloads the current page's data. */
  refresh: () => Promise<void>;
};
export type View = { title: string; content: Child };

export type User = {
  id: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  plan: string;
  timeZone: string;
  createdAt: string;
};
export type Page<T> = { nodes: T[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
export type Count = { reviews: number; recalled: number; retention: number | null };
export type DayCount = { date: string; count: number };
export type Overview = User & {
  month: {
    forecast: { overdue: number; dueNow: number; days: DayCount[] };
    retention: { total: Count };
    distributions: {
      easeFactors: { ef: number; count: number }[];
      intervals: { band: string; count: number }[];
    };
  };
  year: {
    activity: { days: DayCount[]; currentStreakDays: number; longestStreakDays: number };
    retention: { bands: { band: string; count: Count }[]; days: { date: string; count: Count }[] };
    hardestMaterials: { nodes: { material: { id: string; title: string }; count: Count }[] };
  };
};
export type Schedule = { ef: number; interval: number; repetitions: number; nextReview: string | null };
export type MaterialRow = Schedule & {
  id: string;
  title: string;
  type: string;
  isDue: boolean;
  lastReviewed: string | null;
  archivedAt: string | null;
};
export type Review = { id: string; quality: number; reviewedAt: string; before: Schedule; after: Schedule };
export type Snooze = {
  id: string;
  snoozeUntil: string;
  reason: string;
  createdAt: string;
  materialIds: string[];
};
export type Material = MaterialRow & {
  content: string | null;
  sourceUrl: string | null;
  createdAt: string;
  updatedAt: string;
  revision: number;
  reviews: Page<Review>;
  snoozes: Page<Snooze>;
  previews: { quality: number; schedule: Schedule }[];
};
export type ApiKey = {
  id: string;
  name: string;
  scopes: string[];
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
};
export type NewApiKey = { key: string; apiKey: ApiKey };
