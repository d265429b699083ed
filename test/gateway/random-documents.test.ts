import { afterAll, beforeAll, test } from 'vitest';
import { compareDocuments } from '../support/compare-documents.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createLearners, type Learner } from '../support/learners.ts';
import { type StubReminders, startStubReminders } from '../support/stub-reminders.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let gateway: TestGateway;
let reminders: StubReminders;
let learners: Learner[];
beforeAll(async () => {
  system = await startSystem();
  reminders = await startStubReminders();
  gateway = await startTestGateway({ ...system, remindersTarget: reminders.target });
  learners = await createLearners({ system, gateway });
});
afterAll(async () => {
  await gateway.stop();
  await reminders.stop();
  await system.stop();
});

// A thousand of them: test/faults/gateway-documents.fault.ts.
test('100 random documents are answered as graphql-js does alone, and take no more than they were measured at', async () => {
  await compareDocuments(gateway, learners, 100);
}, 120_000);
