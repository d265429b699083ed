// Reads environment variables and reports all invalid ones together.
import { readSecretFiles } from './secret-files.ts';

/** Has one line per invalid variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Typed access to an environment. Notes an invalid value and returns the fallback, so that all problems are found. */
export type EnvironmentReader = {
  /** The value of a variable; empty counts as unset. */
  text(name: string): string | undefined;
  /** A required value; `hint` says how to get one. */
  required(name: string, hint: string): string;
  wholeNumber(name: string, fallback: number, range: { min: number; max: number }): number;
  /** A TCP port; 0 lets the system choose a free one. */
  port(name: string, fallback: number): number;
  /** Whether a variable is on; it must be "on" or "off". */
  isOn(name: string, fallback?: 'on' | 'off'): boolean;
  oneOf<T extends string>(name: string, allowed: readonly [T, ...T[]], fallback: T): T;
  /**
   * Secrets of printable ASCII, separated by commas, without the blanks around each, each of at least `minLength` characters;
   * problems never contain the values.
   */
  secrets(name: string, minLength: number): string[];
  /** Adds a problem that involves several variables. */
  problem(text: string): void;
};

/**
 * Reads an environment with `read`, its secrets also from files, and returns the result.
 * @throws ConfigError with all problems.
 */
export function readEnvironment<T>(environment: Environment, read: (reader: EnvironmentReader) => T): T {
  const problems = new Set<string>();
  const result = readCollecting(problems, environment, read);
  if (problems.size > 0) throw new ConfigError([...problems]);
  return result;
}

/** As `readEnvironment`, but adds the problems to `problems`: an invalid value is its fallback in the result. */
export function readCollecting<T>(
  problems: Set<string>,
  environment: Environment,
  read: (reader: EnvironmentReader) => T,
): T {
  const { environment: complete, problems: ofFiles } = readSecretFiles(environment);
  for (const problem of ofFiles) problems.add(problem);
  return read(createReader(complete, problems));
}

function createReader(environment: Environment, problems: Set<string>): EnvironmentReader {
  const text = (name: string) => environment[name] || undefined;
  const wholeNumber: EnvironmentReader['wholeNumber'] = (name, fallback, { min, max }) => {
    const value = text(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    problems.add(`${name} must be a whole number from ${min} to ${max}, not "${value}"`);
    return fallback;
  };
  const oneOf: EnvironmentReader['oneOf'] = (name, allowed, fallback) => {
    const value = text(name);
    const found = allowed.find((candidate) => candidate === value);
    if (value !== undefined && found === undefined) {
      problems.add(`${name} must be one of ${allowed.join(', ')}, not "${value}"`);
    }
    return found ?? fallback;
  };
  return {
    text,
    required(name, hint) {
      const value = text(name);
      if (value === undefined) problems.add(`${name} is not set: ${hint}`);
      return value ?? '';
    },
    wholeNumber,
    port: (name, fallback) => wholeNumber(name, fallback, { min: 0, max: 65_535 }),
    isOn: (name, fallback = 'on') => oneOf(name, ['on', 'off'], fallback) === 'on',
    oneOf,
    secrets(name, minLength) {
      const values =
        text(name)
          ?.split(',')
          .map((value) => value.trim()) ?? [];
      if (values.some((value) => value.length < minLength)) {
        problems.add(`each secret in ${name} must have at least ${minLength} characters`);
      }
      // They travel in headers; the error of a client that cannot send one contains it.
      if (!values.every((value) => /^[ -~]*$/.test(value))) {
        problems.add(`each secret in ${name} must consist of printable ASCII characters`);
      }
      return values;
    },
    problem: (problem) => problems.add(problem),
  };
}
