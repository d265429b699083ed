// Documents at length: a thousand random ones against graphql-js alone and their measure, and thousands that are made to cost CPU
// before they are run.
import { validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildGatewaySchema } from '../../gateway/graphql/schema.ts';
import { inspect } from '../../gateway/limits/inspect.ts';
import { createKnownDocuments } from '../../gateway/limits/known-documents.ts';
import { LIMITS } from '../../gateway/limits/limits.ts';
import { ATTACKS } from '../support/attack-documents.ts';
import { compareDocuments } from '../support/compare-documents.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { hostileDocument } from '../support/hostile-documents.ts';
import { createLearners } from '../support/learners.ts';
import { type StubReminders, startStubReminders } from '../support/stub-reminders.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { sized } from './support/rounds.ts';

const DOCUMENTS = sized(5000);
const MAX_CPU_MS = 150;

let system: TestSystem;
let gateway: TestGateway;
let reminders: StubReminders;
beforeAll(async () => {
  system = await startSystem();
  reminders = await startStubReminders();
  gateway = await startTestGateway({ ...system, remindersTarget: reminders.target });
});
afterAll(async () => {
  await gateway.stop();
  await reminders.stop();
  await system.stop();
});

test('1,000 random documents are answered as graphql-js does alone, and take no more than they were measured at', async () => {
  await compareDocuments(gateway, await createLearners({ system, gateway }), 1000);
}, 600_000);

describe(`before it is run, a document takes at most ${MAX_CPU_MS} ms of CPU`, () => {
  const schema = buildGatewaySchema();

  /** Parsed, inspected and, where that does not refuse it, validated as Apollo does. The least of three times. */
  function cpuMs(query: string, variables: object = {}): number {
    let least = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 3 && least > MAX_CPU_MS / 3; time += 1) {
      const before = process.cpuUsage();
      const documents = createKnownDocuments();
      const { refusal } = inspect(schema, documents, { query, variables });
      if (refusal === undefined)
        validate(schema, documents.read(query).document, undefined, { maxErrors: LIMITS.errors });
      const { user, system: kernel } = process.cpuUsage(before);
      least = Math.min(least, (user + kernel) / 1000);
    }
    return least;
  }

  test(`${DOCUMENTS} hostile ones`, () => {
    let [most, worst, within] = [0, '', 0];
    for (let seed = 1; seed <= DOCUMENTS; seed += 1) {
      const query = hostileDocument(schema, seed * 7919);
      const taken = cpuMs(query);
      if (inspect(schema, createKnownDocuments(), { query }).refusal === undefined) within += 1;
      if (taken > most) [most, worst] = [taken, query];
    }
    process.stdout.write(
      `${within} of ${DOCUMENTS} within the limits; the most: ${most.toFixed(1)} ms, of ${worst.slice(0, 300)}\n`,
    );
    expect(most, worst).toBeLessThan(MAX_CPU_MS);
    expect(within).toBeGreaterThan(DOCUMENTS / 20);
  }, 600_000);

  test.each(ATTACKS)('%s', (_name, _status, query, variables) => {
    expect(cpuMs(query, variables)).toBeLessThan(MAX_CPU_MS);
  });
});
