// The command line of programs with subcommands that call the services, such as npm run keys.
import type { ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { invalidRequest } from '../platform/errors.ts';
import { runCommand, UsageError } from '../platform/process/command.ts';
import { type Connection, callServices, explain, print } from './service-command.ts';

type Values<O extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

/** A text, or the parts of a long one. */
export type Output = string | AsyncIterable<string>;

export type Subcommand<Clients, Options> = {
  run(clients: Clients, operands: readonly string[], options: Options): Promise<Output>;
  /** The options besides --json. */
  takes: readonly (keyof Options)[];
  /** Whether it has one operand, an ID; else it has none. */
  takesId?: boolean;
};

/**
 * Runs the command that the command line names, and prints what it returns; the help where none is named. On any failure it prints
 * "CODE: message", where CODE is one of the API's error codes, and exits with 1. `connect`: is called once the command line is known
 * to be right.
 */
export async function runSubcommands<const O extends ParseArgsOptionsConfig, Clients>(program: {
  name: string;
  help: string;
  options: O;
  commands: Readonly<Record<string, Subcommand<Clients, Values<O>>>>;
  connect(): Connection<Clients>;
}): Promise<void> {
  const { name, help, options, commands, connect } = program;
  await runCommand({ name, help, options, takesOperands: true, explain }, async (values, all) => {
    const [asked, ...operands] = all;
    if (asked === undefined) return print(help);
    // The type of `values` is that of `options`, and of --help, which is not set here.
    const command = commandOf(commands, asked, { operands, given: values as Values<O> });
    await callServices(connect(), async (clients) =>
      print(await command.run(clients, operands, values as Values<O>)),
    );
  });
}

/** @throws UsageError if there is no such command, or it does not take one of the given operands and options. */
function commandOf<Clients, Options extends object>(
  commands: Readonly<Record<string, Subcommand<Clients, Options>>>,
  name: string,
  { operands, given }: { operands: readonly string[]; given: Options },
): Subcommand<Clients, Options> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw new UsageError(`There is no command ${JSON.stringify(name)}.`);
  const unknown = Object.keys(given).find(
    (option) => option !== 'json' && !command.takes.some((taken) => taken === option),
  );
  if (unknown !== undefined) throw new UsageError(`"${name}" takes no --${unknown}.`);
  if (operands.length !== (command.takesId ? 1 : 0))
    throw new UsageError(`"${name}" takes ${command.takesId ? 'one ID' : 'no arguments'}.`);
  return command;
}

type ProfileOptions = Partial<Record<'plan' | 'time-zone' | 'first-name' | 'last-name', string | undefined>>;

/** The fields of a user's profile that options give. @throws INVALID_REQUEST for another plan. */
export function profileOf(options: ProfileOptions) {
  const { plan, 'time-zone': timeZone, 'first-name': firstName, 'last-name': lastName } = options;
  return {
    ...(plan !== undefined && { plan: readPlan(plan) }),
    ...(timeZone !== undefined && { timeZone }),
    ...(firstName !== undefined && { firstName }),
    ...(lastName !== undefined && { lastName }),
  };
}

function readPlan(plan: string): 'PLAN_FREE' | 'PLAN_PREMIUM' {
  if (plan === 'free') return 'PLAN_FREE';
  if (plan === 'premium') return 'PLAN_PREMIUM';
  throw invalidRequest('plan', '--plan must be free or premium.');
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`;
}
