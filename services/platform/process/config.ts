// Reads environment variables by the table of variables, secrets also from files, and reports all invalid ones together.
import { readFileSync } from 'node:fs';
import { errorCode } from '../thrown.ts';
import { type Named, SECRETS, VARIABLES, type Variable, type VariableName } from './variables.ts';

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

type Table = typeof VARIABLES;

/**
 * Typed access to an environment, with the defaults and ranges of the table. Empty counts as unset. For an invalid value, a reader
 * records a problem and returns the default, so that all problems are found.
 */
export type EnvironmentReader = {
  isSet(name: VariableName): boolean;
  /** The value or default of a text. */
  text<N extends Named<'text'>>(
    name: N,
  ): Table[N]['type'] extends { default: string } ? string : string | undefined;
  /** A value that must be set; the table's `form` says what it is. */
  required(name: Named<'text'>): string;
  /** `max`: an upper limit below that of the table. */
  wholeNumber(name: Named<'wholeNumber'>, max?: number): number;
  isOn(name: Named<'onOrOff'>): boolean;
  /** `fallback`: in place of the table's default. */
  oneOf<N extends Named<'oneOf'>>(
    name: N,
    fallback?: Table[N]['type']['values'][number],
  ): Table[N]['type']['values'][number];
  /**
   * A comma-separated list of secrets, trimmed. Each must have at least 32 characters, all printable ASCII. Problems never contain the
   * values.
   */
  secrets(name: Named<'text'>): string[];
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

/** As `readEnvironment`, but adds the problems to `problems`: an invalid value is its default in the result. */
export function readCollecting<T>(
  problems: Set<string>,
  environment: Environment,
  read: (reader: EnvironmentReader) => T,
): T {
  const { environment: complete, problems: ofFiles } = readSecretFiles(environment);
  for (const problem of ofFiles) problems.add(problem);
  return read(createReader(complete, problems));
}

const MIN_SECRET_CHARACTERS = 32;

function createReader(environment: Environment, problems: Set<string>): EnvironmentReader {
  const given = (name: VariableName) => environment[name] || undefined;
  const chosen = <T extends string>(name: VariableName, values: readonly T[], fallback: T): T => {
    const value = given(name);
    const found = values.find((candidate) => candidate === value);
    if (value !== undefined && found === undefined) {
      problems.add(`${name} must be one of ${values.join(', ')}, not "${value}"`);
    }
    return found ?? fallback;
  };
  return {
    isSet: (name) => given(name) !== undefined,
    text(name) {
      const { type }: Variable = VARIABLES[name];
      const byDefault = type.kind === 'text' ? type.default : undefined;
      // The table's entry says whether there is a default.
      return (given(name) ?? byDefault) as ReturnType<typeof this.text<typeof name>>;
    },
    required(name) {
      const value = given(name);
      const { form }: Variable = VARIABLES[name];
      if (value === undefined) problems.add(`${name} is not set: ${form}`);
      return value ?? '';
    },
    wholeNumber(name, limit) {
      const { type } = VARIABLES[name];
      const max = limit ?? type.max;
      const value = given(name);
      if (value === undefined) return type.default;
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
      if (number >= type.min && number <= max) return number;
      problems.add(`${name} must be a whole number from ${type.min} to ${max}, not "${value}"`);
      return type.default;
    },
    isOn: (name) => chosen(name, ['on', 'off'], VARIABLES[name].type.default) === 'on',
    oneOf: (name, fallback) =>
      chosen(name, VARIABLES[name].type.values, fallback ?? VARIABLES[name].type.default),
    secrets(name) {
      const values =
        given(name)
          ?.split(',')
          .map((value) => value.trim()) ?? [];
      if (values.some((value) => value.length < MIN_SECRET_CHARACTERS)) {
        problems.add(`each secret in ${name} must have at least ${MIN_SECRET_CHARACTERS} characters`);
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

/**
 * The environment with each NAME_FILE of a secret replaced by NAME, whose value is the content of that file, as Docker and Kubernetes
 * mount secrets. A byte order mark at the beginning and a line break at the end of a file are removed. `problems` has one line per
 * invalid variable, without its value.
 */
export function readSecretFiles(given: Environment): { environment: Environment; problems: string[] } {
  const read: Record<string, string | undefined> = {};
  const problems: string[] = [];
  for (const name of SECRETS) {
    const path = given[`${name}_FILE`];
    if (!path) continue;
    read[`${name}_FILE`] = undefined;
    if (given[name]) {
      problems.push(`${name} and ${name}_FILE are both set: remove one of them`);
      continue;
    }
    try {
      read[name] = readFileSync(path, 'utf8').replace(/^\uFEFF|\r?\n$/g, '');
    } catch (error) {
      const code = errorCode(error);
      problems.push(`${name}_FILE names a file that cannot be read${code && ` (${code})`}: ${path}`);
    }
  }
  const environment = Object.keys(read).length === 0 ? given : { ...given, ...read };
  return { environment, problems };
}
