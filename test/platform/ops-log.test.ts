import { expect, test } from 'vitest';
import { createLogView, viewLogLine } from '../../services/platform/logging/log-view.ts';

test('a request is shown by what it was and how it ended, then by ids', () => {
  const entry = {
    requestId: 'r1',
    method: 'GET',
    route: '/v1/me',
    status: 200,
    durationMs: 1.5,
    userId: 'u1',
    msg: 'request',
  };
  expect(plain(entry)).toBe('08:03:38.694 INFO  rest GET /v1/me 200 1.5 ms requestId=r1 userId=u1\n');
  expect(plain({ ...entry, status: undefined, hungUp: true })).toContain('GET /v1/me hung up 1.5 ms');
});

test('a call over gRPC is shown by its rpc, anything else by its message', () => {
  expect(plain({ rpc: 'a.v1.B/C', status: 'NOT_FOUND', durationMs: 2, caller: 'rest', msg: 'call' })).toBe(
    '08:03:38.694 INFO  rest a.v1.B/C NOT_FOUND 2 ms caller=rest\n',
  );
  expect(plain({ level: 40, msg: 'Redis is unavailable', reason: 'ECONNREFUSED' })).toBe(
    '08:03:38.694 WARN  rest Redis is unavailable reason=ECONNREFUSED\n',
  );
});

test('an error is shown with its stack, indented', () => {
  const shown = plain({
    level: 50,
    msg: 'call failed',
    rpc: 'a.v1.B/C',
    err: { stack: 'Error: no\n    at here' },
  });
  expect(shown).toBe('08:03:38.694 ERROR rest call failed a.v1.B/C\n    Error: no\n        at here\n');
});

test('nothing in an entry can move the cursor, colour the terminal or begin a line', () => {
  const shown = plain({ msg: 'a\u001b[2Jb\nc\u009bd', caller: 'x\r\u0007' });
  expect(shown).toBe('08:03:38.694 INFO  rest a?[2Jb?c?d caller=x??\n');
  // Not even with a colour, which is ours alone to give.
  expect(plain({ msg: '\u001b[31mred' })).toContain('rest ?[31mred');
});

test('colours are given where they are wanted, and what is no JSON passes as it is', () => {
  const written: string[] = [];
  const view = createLogView({ write: (text) => written.push(text) }, { colours: true });
  view.write(line({ level: 50, msg: 'bad' }));
  view.write('not JSON\n');
  expect(written).toEqual([
    '\u001b[90m08:03:38.694\u001b[0m \u001b[31mERROR\u001b[0m \u001b[36mrest\u001b[0m bad\n',
    'not JSON\n',
  ]);
});

test('JSON that is no entry passes as it is', () => {
  for (const text of ['null', '"text"', '12', '[{}]'])
    expect(viewLogLine(text, { colours: false })).toBe(text);
});

const line = (entry: object) =>
  JSON.stringify({ level: 30, time: 1_795_248_218_694, name: 'rest', ...entry });
const plain = (entry: object) => viewLogLine(line(entry), { colours: false });
