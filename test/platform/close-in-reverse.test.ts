import { expect, test } from 'vitest';
import { closeInReverse } from '../../services/platform/process/run-service.ts';

test('parts close from the last to the first, also after one that fails, and the first error is told', async () => {
  const closed: string[] = [];
  const closers = ['database', 'accounts', 'rest', 'gateway'].map((name) => async () => {
    closed.push(name);
    if (name === 'rest' || name === 'accounts') throw new Error(`${name} does not close`);
  });
  await expect(closeInReverse(closers)).rejects.toThrow('rest does not close');
  expect(closed).toEqual(['gateway', 'rest', 'accounts', 'database']);
});
