// Gives the tests the PostgreSQL that npm run mutants has started for all of its runs.
import type { TestProject } from 'vitest/node';

export default function setup(project: TestProject): void {
  const { MUTANTS_POSTGRES_URL } = process.env;
  if (MUTANTS_POSTGRES_URL === undefined) throw new Error('npm run mutants sets MUTANTS_POSTGRES_URL');
  project.provide('postgresUrl', MUTANTS_POSTGRES_URL);
  // Many mutants hang.
  project.provide('patienceMs', 8000);
}
