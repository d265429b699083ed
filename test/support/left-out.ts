// Tests that are left out where a program is missing say so; CI has every program.

/** `advice`: which tests, and what to install. @returns false @throws Error in CI */
export function leaveOut(advice: string): false {
  if (process.env.CI) throw new Error(`CI must not leave out ${advice}`);
  process.stderr.write(`Left out: ${advice}\n`);
  return false;
}
