// The globs of the rooms: one that matches nothing would leave code or tests out unseen.
import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from '../support/processes.ts';
import { ROOMS } from './rooms.ts';

test('each file and each glob of a room matches a file', () => {
  const globs = ROOMS.flatMap(({ sources, tests }) => [...sources, ...tests]);
  const each = new Set(globs.flatMap((glob) => spelledOut(glob.replace(/^!/, ''))));
  const unmatched = [...each].filter((glob) => globSync(glob, { cwd: root }).length === 0);
  expect(unmatched).toEqual([]);
});

/** The globs that a glob with braces stands for. */
function spelledOut(glob: string): string[] {
  const [braces, choices = ''] = /\{([^{}]*)\}/.exec(glob) ?? [];
  if (braces === undefined) return [glob];
  return choices.split(',').flatMap((choice) => spelledOut(glob.replace(braces, choice)));
}
