// Debian's Python, where there is one: tests that need it are left out without it, but not in CI.
import { spawnSync } from 'node:child_process';
import { leaveOut } from './left-out.ts';

export const PYTHON = '/usr/bin/python3';

/**
 * Whether Python has these modules; says so where it lacks one. Finds them without loading them, which takes longer than what is done
 * with them. `packages`: Debian's. @throws Error where that is CI
 */
export function hasPython(modules: readonly string[], packages: string): boolean {
  const find = `from importlib.util import find_spec; assert all(map(find_spec, ${JSON.stringify(modules)}))`;
  if (spawnSync(PYTHON, ['-c', find]).status === 0) return true;
  return leaveOut(`tests with Python (Debian: apt-get install ${packages})`);
}
