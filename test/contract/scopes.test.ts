// Accounts decides which scopes there are; the API and the dashboard know the same ones.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SCOPES, scopesForNewKey } from '../../services/accounts/keys/rules.ts';
import { ScopeSchema } from '../../services/rest/schemas.ts';
import { root } from '../support/processes.ts';

test('the API documents the scopes that accounts knows', () => {
  expect(ScopeSchema).toMatchObject({ enum: SCOPES });
});

test('the dashboard offers the scopes that accounts knows, and chooses its default', () => {
  expect(page.SCOPES).toEqual(SCOPES);
  expect(page.USUAL_SCOPES).toEqual(scopesForNewKey([]));
});

/** The page is JavaScript, which the tests' compiler takes for untyped. */
const page: { SCOPES: string[]; USUAL_SCOPES: string[] } = await import(
  join(root, 'gateway/dashboard/page/actions/scopes.js')
);
