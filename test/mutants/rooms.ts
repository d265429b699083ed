// What is mutated, room by room, by which tests it is to be noticed, and how much of it.
export type Room = {
  name: string;
  /** The share of mutants, in percent, that must be noticed. */
  bar: 90 | 97;
  /** Globs of the files that are mutated. */
  sources: readonly string[];
  /** Globs of the test files that are to notice. */
  tests: readonly string[];
  /** Whether literal texts are mutated too. */
  texts: boolean;
};

/** Their tests start them as processes of their own, which no mutant enters. */
const PROGRAMS = ['main', 'service', 'config'];

const serviceRoom = (name: string): Room => ({
  name,
  bar: 90,
  texts: false,
  sources: [`services/${name}/**/*.ts`, ...PROGRAMS.map((program) => `!services/${name}/${program}.ts`)],
  tests: [`test/${name}/**/*.test.ts`],
});

export const ROOMS: readonly Room[] = [
  {
    name: 'SM-2',
    bar: 90,
    texts: true,
    sources: ['services/scheduling/**/sm2.ts'],
    tests: ['test/scheduling/domain/*.test.ts'],
  },
  ...['scheduling', 'accounts', 'rest', 'reminders'].map(serviceRoom),
  {
    name: 'gateway',
    bar: 90,
    texts: false,
    sources: ['gateway/**/*.ts', '!gateway/dashboard/**', '!gateway/main.ts', '!gateway/config.ts'],
    tests: ['test/gateway/*.test.ts'],
  },
  {
    name: 'gateway access',
    bar: 97,
    texts: false,
    sources: ['gateway/access/**/*.ts'],
    tests: ['test/gateway/*.test.ts'],
  },
  {
    name: 'platform',
    bar: 90,
    texts: false,
    sources: ['services/platform/**/*.ts'],
    tests: ['test/platform/**/*.test.ts'],
  },
  {
    name: 'configuration',
    bar: 90,
    texts: true,
    sources: ['services/*/config.ts', 'gateway/config.ts'],
    tests: ['test/platform/config*.test.ts'],
  },
];
