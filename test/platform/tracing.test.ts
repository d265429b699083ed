// What is logged of a collector of traces that is away.
import { expect, test } from 'vitest';
import { reasonOf } from '../../services/platform/observability/tracing.ts';

test.each([
  [
    JSON.stringify({ stack: 'Error: connect\n    at TCPConnectWrap', message: 'connect ECONNREFUSED' }),
    'connect ECONNREFUSED',
  ],
  ['{"code":"x"}', '{"code":"x"}'],
  ['Unauthorized', 'Unauthorized'],
])('of %s the log has the message alone', (text, reason) => {
  expect(reasonOf(text)).toBe(reason);
});
