// The words of GraphQL's own refusals: without the values that were sent, which can be titles, contents or keys.
import { GraphQLError, getVariableValues, Kind, parse, validate } from 'graphql';
import { describe, expect, test } from 'vitest';
import { describeRefusal, describeSyntaxError } from '../../gateway/graphql/refusals.ts';
import { buildGatewaySchema } from '../../gateway/graphql/schema.ts';

const schema = buildGatewaySchema();

/** The refusal of the first of the variables that is wrong. */
function ofVariable(query: string, variables: Record<string, unknown>) {
  const [operation] = parse(query).definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('no operation');
  const { errors = [] } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  return errors[0] && describeRefusal(errors[0]);
}
const ofDocument = (query: string) => validate(schema, parse(query)).map(describeRefusal)[0];
/** An error with this message about the first value of the document; GraphQL has no such ones of this length. */
function ofValue(message: string) {
  const nodes = [{ kind: Kind.STRING, value: 'x' } as const];
  return describeRefusal(new GraphQLError(message, { nodes })).message;
}

describe('a syntax error is told by its place and the kinds of its tokens', () => {
  test.each([
    ['Syntax Error: Expected Name, found "}".', 'Expected Name, found "}"'],
    ['Syntax Error: Expected "on", found Name "secret".', 'Expected "on", found Name'],
    ['Syntax Error: Unexpected Name "secret".', 'Unexpected Name'],
    ['Syntax Error: Unexpected "...".', 'Unexpected "..."'],
    ['Syntax Error: Unterminated string.', 'Unterminated string'],
    [
      'Syntax Error: Document contains more that 2000 tokens. Parsing aborted.',
      'Document contains more that 2000 tokens',
    ],
    ['Syntax Error: Document contains more that x tokens.', 'this cannot be read'],
    ['Syntax Error: Invalid Unicode escape sequence: "\\uXXXX".', 'Invalid Unicode escape sequence'],
    ['Syntax Error: Invalid character escape sequence: "\\q".', 'Invalid character escape sequence'],
    ['Syntax Error: Invalid character: U+0001.', 'Invalid character'],
    ['Syntax Error: Invalid number, expected digit but got: "s".', 'Invalid number'],
    ['secret Syntax Error: Invalid number', 'this cannot be read'],
    ['secret Syntax Error: Unterminated string', 'this cannot be read'],
    ['Syntax Error: Unexpected secret', 'this cannot be read'],
    [`Syntax Error: Expected ${'x'.repeat(300)}`, 'this cannot be read'],
  ])('%s', (message, told) => {
    const error = { message, locations: [{ line: 3, column: 7 }] } as unknown as GraphQLError;
    expect(describeSyntaxError(error)).toBe(`Syntax error at line 3, column 7: ${told}.`);
  });

  test('and by no place where there is none', () => {
    expect(describeSyntaxError(new GraphQLError('Syntax Error: Unexpected Name "x".'))).toBe(
      'Syntax error at line 0, column 0: Unexpected Name.',
    );
  });
});

describe('a value of a document is told by its type', () => {
  const UNKNOWN = 'The value is not one of those that are taken here.';

  test.each([
    ['{ users(first: "secret") { nodes { id } } }', 'Int cannot represent the value.'],
    ['{ users(first: 1.5) { nodes { id } } }', 'Int cannot represent the value.'],
    ['{ user(id: true) { id } }', 'ID cannot represent the value.'],
    ['{ user(id: ["secret"]) { id } }', 'ID cannot represent the value.'],
    ['{ user(id: {secret: 1}) { id } }', 'ID cannot represent the value.'],
    ['{ user(email: secret) { id } }', 'String cannot represent the value.'],
    ['{ user(email: 7) { id } }', 'String cannot represent the value.'],
    ['{ user(id: "x") { materials(state: SECRET) { nodes { id } } } }', UNKNOWN],
    [
      '{ user(id: "x") { materials(state: "secret") { nodes { id } } } }',
      'Enum "MaterialState" cannot represent the value.',
    ],
    [
      '{ user(id: "x") { stats(asOf: "secret") { forecast { overdue } } } }',
      'must be a time with an offset, such as 2026-12-01T10:00:00Z',
    ],
    [
      'mutation { createMaterial(input: "secret") { __typename } }',
      'Expected value of type "CreateMaterialInput!".',
    ],
    ['mutation { deleteUser(input: {userId: null}) { deleted } }', 'Expected value of type "ID!".'],
    [
      'mutation { deleteUser(input: {}) { deleted } }',
      'Field "DeleteUserInput.userId" of required type "ID!" was not provided.',
    ],
  ])('%s', (query, message) => {
    expect(ofDocument(query)).toEqual({ message });
  });

  test.each([
    ['must be a day, such as 2026-12-01', 'must be a day, such as 2026-12-01'],
    ['Expected value of type "[ID!]!", found "secret".', 'Expected value of type "[ID!]!".'],
    [`Expected value of type "${'T'.repeat(100)}", found`, `Expected value of type "${'T'.repeat(100)}".`],
    [`Expected value of type "${'T'.repeat(101)}", found`, UNKNOWN],
    ['Expected value of type "", found "secret".', UNKNOWN],
    ['Expected value of type "a b", found', UNKNOWN],
    ['secret Expected value of type "ID!"', UNKNOWN],
    ['Expected type "[Name]!" to be an object.', 'Expected type "[Name]!" to be an object.'],
    ['secret Expected type "Name" to be an object.', UNKNOWN],
    ['Expected type "a b" to be an object.', UNKNOWN],
    [
      'Expected non-nullable type "[ID!]!" not to be null.',
      'Expected non-nullable type "[ID!]!" not to be null.',
    ],
    ['secret Expected non-nullable type "ID!" not to be null.', UNKNOWN],
    ['Expected non-nullable type "a b" not to be null.', UNKNOWN],
    [
      'Field "Name.field" of required type "[ID!]!" was not provided.',
      'Field "Name.field" of required type "[ID!]!" was not provided.',
    ],
    ['secret Field "field" of required type "ID!" was not provided.', UNKNOWN],
    ['Field "a b" of required type "ID!" was not provided.', UNKNOWN],
    ['Field "field" of required type "a b" was not provided.', UNKNOWN],
    [
      'Field "field" is not defined by type "Name". Did you mean',
      'Field "field" is not defined by type "Name".',
    ],
    ['secret Field "field" is not defined by type "Name".', UNKNOWN],
    ['Field "a b" is not defined by type "Name".', UNKNOWN],
    ['Field "field" is not defined by type "a b".', UNKNOWN],
    ['Enum "Name" cannot represent value: "secret".', 'Enum "Name" cannot represent the value.'],
    ['Float cannot represent non numeric value: "secret".', 'Float cannot represent the value.'],
    ['"secret thing" cannot represent', UNKNOWN],
    ['secret Int cannot represent', UNKNOWN],
    [`${'x'.repeat(300)} cannot represent`, UNKNOWN],
    [`Field "${'f'.repeat(200)}" of required type "${'T'.repeat(100)}" was not provided.`, UNKNOWN],
    ['a secret', UNKNOWN],
  ])('such as: %s', (message, told) => {
    expect(ofValue(message)).toBe(told);
  });

  test.each([Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.NULL, Kind.ENUM, Kind.LIST, Kind.OBJECT])(
    'also if it is a %s',
    (kind) => {
      const nodes = [{ kind } as never];
      expect(describeRefusal(new GraphQLError('a secret', { nodes }))).toEqual({ message: UNKNOWN });
    },
  );
});

describe('a variable is told by its name, the path to what is wrong, and the field', () => {
  const CREATE = 'mutation ($input: CreateMaterialInput!) { __typename }';

  test.each<[query: string, variables: Record<string, unknown>, message: string, field: string]>([
    [
      CREATE,
      { input: 'secret' },
      'Variable "$input": Expected type "CreateMaterialInput" to be an object.',
      'input',
    ],
    [
      CREATE,
      { input: { userId: 'x', title: ['secret'] } },
      'Variable "$input.title": String cannot represent the value.',
      'title',
    ],
    [
      CREATE,
      { input: { userId: 'x', title: 'x', type: 'SECRET' } },
      'Variable "$input.type": The value is not one of those that are taken here.',
      'type',
    ],
    [
      CREATE,
      { input: { userId: 'x', content: '" at "input.content"; secret' } },
      'Variable "$input": Field "title" of required type "String!" was not provided.',
      'input',
    ],
    [
      CREATE,
      { input: { userId: 'x', title: 'x', rmk_live_secret: 1 } },
      'Variable "$input": Field "rmk_live_…" is not defined by type "CreateMaterialInput".',
      'input',
    ],
    [
      'query ($ids: [ID!]!) { __typename }',
      { ids: ['x', ['secret']] },
      'Variable "$ids[1]": ID cannot represent the value.',
      'ids',
    ],
    [
      'query ($ids: [[ID!]!]!) { __typename }',
      { ids: [[], ['x', {}]] },
      'Variable "$ids[1][1]": ID cannot represent the value.',
      'ids',
    ],
    [
      'query ($ids: [ID!]!) { __typename }',
      { ids: [...Array(12).fill('x'), null] },
      'Variable "$ids[12]": Expected non-nullable type "ID!" not to be null.',
      'ids',
    ],
    [
      'query ($n: Int) { __typename }',
      { n: 'secret'.repeat(100) },
      'Variable "$n": Int cannot represent the value.',
      'n',
    ],
  ])('%s with %j', (query, variables, message, field) => {
    expect(ofVariable(query, variables)).toEqual({ message, field });
  });

  test('and not by a path that the name of a field pretends', () => {
    const input = { userId: 'x', ' at "input.content"; ': 1 };
    expect(ofVariable(CREATE, { input })).toEqual({
      message: 'Variable "$input": Field "title" of required type "String!" was not provided.',
      field: 'input',
    });
  });

  test('and by the field of a list in an input, wherever in the list', () => {
    const query = 'mutation ($input: SnoozeMaterialsInput!) { __typename }';
    const input = { userId: 'x', materialIds: [...Array(12).fill('x'), {}] };
    expect(ofVariable(query, { input })).toEqual({
      message: 'Variable "$input.materialIds[12]": ID cannot represent the value.',
      field: 'materialIds',
    });
  });

  test('and by what a time must be', () => {
    expect(ofVariable('query ($at: DateTime) { __typename }', { at: 'secret' })).toEqual({
      message: 'Variable "$at": must be a time with an offset, such as 2026-12-01T10:00:00Z',
      field: 'at',
    });
  });

  test('and by its name alone where it is missing, or null', () => {
    const query = 'query ($n: ID!) { __typename }';
    expect(ofVariable(query, {})).toEqual({
      message: 'Variable "$n" of required type "ID!" was not provided.',
    });
    expect(ofVariable(query, { n: null })).toEqual({
      message: 'Variable "$n" of non-null type "ID!" must not be null.',
    });
  });
});

describe('every other error is told as it is', () => {
  test('also if another one has caused it', () => {
    const originalError = new GraphQLError('the cause');
    const [operation] = parse('query ($n: Int) { a }').definitions;
    const nodes = operation?.kind === Kind.OPERATION_DEFINITION ? operation.variableDefinitions : [];
    for (const options of [{ originalError }, { originalError, nodes: nodes ?? [] }])
      expect(describeRefusal(new GraphQLError('Variable "$n" is odd.', options))).toEqual({
        message: 'Variable "$n" is odd.',
      });
  });

  test('without keys, and in at most 1,000 characters', () => {
    expect(ofDocument('{ nothing }')).toEqual({ message: 'Cannot query field "nothing" on type "Query".' });
    expect(describeRefusal(new GraphQLError('a rmk_live_one, a rmk_live_two.'))).toEqual({
      message: 'a rmk_live_…, a rmk_live_….',
    });
    expect(describeRefusal(new GraphQLError('x'.repeat(1001)))).toEqual({ message: 'x'.repeat(1000) });
  });
});
