// Rewrites graphql-js errors without the values that the caller sent: graphql-js quotes them, they can be titles, contents or keys,
// and errors are logged.
import { GraphQLError, Kind } from 'graphql';
import { withoutKeys } from '../../services/platform/redaction.ts';
import { NO_DATE, NO_DATE_TIME } from './scalars.ts';

const MAX_CHARACTERS = 1000;
/** Only this prefix of a message is matched, since it identifies the error. */
const MAX_LOOKED_AT = 300;

/** Kinds of value nodes: an error about one of them can quote it. */
const VALUES: ReadonlySet<string> = new Set([
  Kind.INT,
  Kind.FLOAT,
  Kind.STRING,
  Kind.BOOLEAN,
  Kind.NULL,
  Kind.ENUM,
  Kind.LIST,
  Kind.OBJECT,
]);

type Refusal = { message: string; field?: string };

/** `error` comes from the parser, the validation, or the coercion of variables or arguments. */
export function describeRefusal(error: GraphQLError): Refusal {
  const [node] = error.nodes ?? [];
  if (node?.kind === Kind.VARIABLE_DEFINITION && error.originalError instanceof GraphQLError) {
    const name = node.variable.name.value;
    const isValue = error.message.startsWith(`Variable "$${name}" got invalid value `);
    if (isValue) return describeVariable(name, error, error.originalError);
  }
  if (node !== undefined && VALUES.has(node.kind)) return { message: describeValue(error.message) };
  return { message: shortened(error.message) };
}

/** Describes a syntax error by its position and token kind. */
export function describeSyntaxError({ message, locations }: GraphQLError): string {
  const head = message.slice(0, MAX_LOOKED_AT);
  const [{ line, column } = { line: 0, column: 0 }] = locations ?? [];
  const known = SYNTAX_ERRORS.map((pattern) => pattern.exec(head)?.[1]).find((text) => text !== undefined);
  return `Syntax error at line ${line}, column ${column}: ${known ?? 'this cannot be read'}.`;
}

/** A keyword, or a punctuator in quotes. */
const TOKEN = '(?:Name|Int|Float|String|BlockString|Comment|<EOF>|"[!$&():=@[\\]{|}.]{1,3}")';
const SYNTAX_ERRORS = [
  new RegExp(`^Syntax Error: (Expected (?:${TOKEN}|"[a-z]{1,12}"), found ${TOKEN})`),
  new RegExp(`^Syntax Error: (Unexpected ${TOKEN})`),
  /^Syntax Error: (Unterminated string|Document contains more that \d+ tokens)/,
  /^Syntax Error: (Invalid (?:Unicode escape sequence|character escape sequence|character|number))/,
];

/** In the message, the path to the invalid value is between the value and the problem. */
function describeVariable(name: string, error: GraphQLError, cause: GraphQLError): Refusal {
  const head = error.message.slice(0, Math.max(0, error.message.length - cause.message.length));
  const [, path] = / at "([\w.[\]]{1,200})"; $/.exec(head.slice(-MAX_LOOKED_AT)) ?? [];
  const place = path ?? name;
  const field = /(\w+)(?:\[\d+\])*$/.exec(place)?.[1] ?? name;
  return { message: shortened(`Variable "$${place}": ${describeValue(cause.message)}`), field };
}

const VALUE_ERRORS = [
  /^(Expected value of type "[\w![\]]{1,100}")/,
  /^(Expected type "[\w![\]]{1,100}" to be an object)/,
  /^(Expected non-nullable type "[\w![\]]{1,100}" not to be null)/,
  /^(Field "[\w.]{1,200}" of required type "[\w![\]]{1,100}" was not provided)/,
  /^(Field "\w{1,100}" is not defined by type "\w{1,100}")/,
  /^((?:Enum )?"?\w{1,100}"? cannot represent)/,
];
function describeValue(message: string): string {
  const head = message.slice(0, MAX_LOOKED_AT);
  const known = VALUE_ERRORS.map((pattern) => pattern.exec(head)?.[1]).find((text) => text !== undefined);
  if (known?.endsWith('cannot represent')) return `${known} the value.`;
  if (known !== undefined) return `${known}.`;
  return message === NO_DATE_TIME || message === NO_DATE
    ? message
    : 'The value is not one of those that are taken here.';
}

function shortened(message: string): string {
  return withoutKeys(message.slice(0, MAX_CHARACTERS));
}
