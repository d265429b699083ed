// The command line of every program: --help, unknown arguments, and how a failure is reported.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { errorCode, toError } from '../thrown.ts';

const HELP = { help: { type: 'boolean', short: 'h' } } as const;

type Command<O extends ParseArgsOptionsConfig> = {
  /** How it is called, such as "npm run seed". */
  name: string;
  /** The output of --help: what it does in one sentence, how it is called, its options, what it reads, exit codes. */
  help: string;
  /** Without --help, which every command has. */
  options?: O;
  /** Whether arguments without a leading "-" are allowed. Default: false. */
  takesOperands?: boolean;
  /** Whether it keeps running if its output cannot be written, as a service must on a full disk. Default: false. */
  ignoresOutputErrors?: boolean;
  /** Default: 1. */
  failureCode?: number;
  /** The line for a failure, without its newline. Default: the error's message. */
  explain?: (error: unknown) => string;
};

type Parsed<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O & typeof HELP; allowPositionals: true }>
>;

/** An argument that the command does not know, or whose value it does not accept. */
export class UsageError extends Error {}

/**
 * Runs `main` with the options and operands of the command line. A number that it returns becomes the exit code. --help only prints the
 * help. An unknown argument or an error of `main` is printed, and the exit code is `failureCode`. Output that cannot be written, as on a
 * full disk, is such an error, unless the command ignores it. A closed pipe or terminal does not stop `main`.
 */
export async function runCommand<const O extends ParseArgsOptionsConfig = Record<never, never>>(
  command: Command<O>,
  main: (values: Parsed<O>['values'], operands: readonly string[]) => Promise<unknown>,
): Promise<void> {
  const {
    explain = (error) => toError(error).message,
    failureCode = 1,
    ignoresOutputErrors = false,
  } = command;
  if (onUnwritten === undefined)
    for (const stream of [process.stdout, process.stderr])
      stream.on('error', (error) => onUnwritten?.(errorCode(error), stream.isTTY));
  onUnwritten = (code, isTerminal) => {
    // As after "| head", and on a terminal that was closed.
    if (ignoresOutputErrors || code === 'EPIPE' || (code === 'EIO' && isTerminal)) return;
    process.stderr.write(`${explain(new UsageError(`The output cannot be written (${code}).`))}\n`);
    process.exit(failureCode);
  };
  try {
    const { values, positionals } = parse(command);
    const asked: { help?: unknown } = values;
    if (asked.help) return void process.stdout.write(command.help);
    const code = await main(values, positionals);
    if (typeof code === 'number') process.exitCode = code;
  } catch (error) {
    process.stderr.write(`${explain(withHint(error, command.name))}\n`);
    process.exitCode = failureCode;
  }
}

/** Of the command that runs; a test runs several in one process. */
let onUnwritten: ((code: string, isTerminal: boolean) => void) | undefined;

function parse<O extends ParseArgsOptionsConfig>({ options, takesOperands = false }: Command<O>): Parsed<O> {
  try {
    // O is the caller's own, so the object is what the type says.
    const all = { ...options, ...HELP } as O & typeof HELP;
    const parsed = parseArgs({ options: all, allowPositionals: true });
    const [operand] = parsed.positionals;
    if (operand !== undefined && !takesOperands) throw new UsageError(`Unexpected argument "${operand}".`);
    return parsed;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Node's own text continues with advice for programmers.
    const [said = ''] = toError(error).message.split('. To specify');
    throw new UsageError(`${said.replace(/\.$/, '')}.`, { cause: error });
  }
}

function withHint(error: unknown, name: string): unknown {
  if (!(error instanceof UsageError)) return error;
  const call = name.startsWith('npm') ? `${name} -- --help` : `${name} --help`;
  return new UsageError(`${error.message} See "${call}".`, { cause: error });
}

/** @throws UsageError if `text` is not a whole number in the range. */
export function wholeNumber(option: string, text: string | undefined, min: number, max: number): number {
  const number = /^\d{1,9}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`${option} must be a whole number from ${min} to ${max}.`);
}

/** Such as "1.2 s", for summaries. `beganMs`: from performance.now(). */
export function secondsSince(beganMs: number): string {
  return `${((performance.now() - beganMs) / 1000).toFixed(1)} s`;
}

/** Such as "1 learner" or "4,000 learners". */
export function counted(count: number, unit: string): string {
  return `${count.toLocaleString('en')} ${unit}${count === 1 ? '' : 's'}`;
}
