// What each side of the borders tells people that a preset means is what scheduling makes of it.
import { join } from 'node:path';
import { GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { buildGatewaySchema } from '../../gateway/schema/schema.ts';
import { SnoozeRequestSchema } from '../../services/rest/schemas.ts';
import { resolvePreset } from '../../services/scheduling/snoozes/rules.ts';
import { root } from '../support/processes.ts';

test('the page offers the presets of the schema, and no other', () => {
  expect(Object.keys(page.PRESETS)).toEqual(values.map(({ name }) => name));
});

test.each([
  ['1h', 'ONE_HOUR', '2026-11-21T13:00:00.000Z', '3,600 seconds'],
  ['tonight', 'TONIGHT', '2026-11-21T20:00:00.000Z', '20:00'],
  ['tomorrow', 'TOMORROW', '2026-11-22T09:00:00.000Z', '09:00'],
] as const)('%s is told alike on every side', (preset, name, expected, words) => {
  expect(resolvePreset(preset === '1h' ? 'oneHour' : preset, NOON, 'UTC').toISOString()).toBe(expected);
  for (const text of [described(name), openApi.find((part) => part.startsWith(preset))]) {
    expect(text).toContain(words);
  }
  expect(page.PRESETS[name]).toContain(preset === '1h' ? '1 hour' : `${preset}, ${words}`);
});

test('tonight is told to be tomorrow, 20:00 from 20:00 on', () => {
  const evening = new Date('2026-11-21T20:00:00Z');
  expect(resolvePreset('tonight', evening, 'UTC').toISOString()).toBe('2026-11-22T20:00:00.000Z');
  expect(page.PRESETS.TONIGHT).toContain('tomorrow, 20:00');
});

/** The page is JavaScript, which the tests' compiler takes for untyped. */
const page: { PRESETS: Record<string, string> } = await import(
  join(root, 'gateway/dashboard/page/actions/presets.js')
);
const NOON = new Date('2026-11-21T12:00:00Z');
const schema = buildGatewaySchema().getType('SnoozePreset');
const values = schema instanceof GraphQLEnumType ? schema.getValues() : [];
const [, ...openApi] = /^(1h.*); (tonight.*); (tomorrow.*)$/.exec(
  SnoozeRequestSchema.properties.preset.description ?? '',
) ?? [''];

/** As the proto has it. */
const described = (name: string) => values.find((value) => value.name === name)?.description ?? '';
