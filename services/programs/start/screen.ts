// What npm start prints for people once all runs: addresses, the first key, and what to do next.
import { SCOPES } from '../../accounts/keys/rules.ts';
import { VARIABLES } from '../../platform/process/variables.ts';
import { DEFAULT_DATA_DIR } from '../program-database.ts';
import type { AddressRow } from './addresses.ts';
import { DEMO_EMAIL } from './demo-user.ts';

type ScreenFacts = {
  rows: readonly AddressRow[];
  /** Of the REST API, ends with /v1. */
  baseUrl: string;
  /** Of the demo user, made by this start. */
  key: string | undefined;
  accountsPort: number;
  hasGateway: boolean;
  /** undefined: the database is DATABASE_URL. */
  dataDir: string | undefined;
};

/** Ends with the line "Ready. Press Ctrl-C to stop." */
export function toScreen(facts: ScreenFacts): string {
  const table = facts.rows.flatMap(([name, value]) => (!value ? [] : `  ${name.padEnd(18)} ${value}`));
  return [
    '',
    ...table,
    '',
    ...firstKey(facts),
    'Next, in another terminal:',
    ...nextSteps(facts),
    '',
    'Ready. Press Ctrl-C to stop.',
    '',
  ].join('\n');
}

function firstKey({ key, baseUrl }: ScreenFacts): string[] {
  if (key === undefined) return [];
  return [
    `First run: created the user ${DEMO_EMAIL} with this API key, which is shown only once:`,
    `  ${key}`,
    'Try it:',
    `  curl -H "Authorization: Bearer ${key}" ${baseUrl}/me`,
    '',
  ];
}

/** Commands that work as they are pasted, in this folder. */
function nextSteps({ key, accountsPort, hasGateway, dataDir }: ScreenFacts): string[] {
  const port = accountsPort === VARIABLES.ACCOUNTS_PORT.type.default ? '' : `ACCOUNTS_PORT=${accountsPort} `;
  const email = dataDir === undefined ? 'you@example.com' : DEMO_EMAIL;
  const seed =
    dataDir === undefined || !hasGateway
      ? []
      : [
          '  Learners to look at in the dashboard:',
          `    ${dataDir === DEFAULT_DATA_DIR ? '' : `DATA_DIR='${dataDir}' `}npm run seed`,
        ];
  return [
    ...seed,
    key === undefined ? '  An API key (keys of earlier runs stay valid):' : '  Another API key:',
    `    ${port}npm run keys -- create --email ${email} --scopes ${SCOPES.join(',')}`,
  ];
}
