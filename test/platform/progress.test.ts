// The bar of a program that works, on a terminal: a line of output does not stand behind it.
import { expect, test } from 'vitest';
import { createProgress } from '../../services/platform/process/terminal.ts';

test('a line of output takes the place of the bar, which comes back below it', () => {
  let screen = '';
  const terminal = {
    isTTY: true,
    write: (text: string) => (screen += text),
  } as unknown as NodeJS.WriteStream;
  const progress = createProgress('materials', 2, terminal);
  progress.clear();
  terminal.write('one has drifted\n');
  progress.advance(2);
  progress.end();
  const lines = screen.split('\n').map((line) => line.split('\r').at(-1)?.replace('\u001b[K', ''));
  expect(lines).toEqual(['one has drifted', `${'█'.repeat(30)} 100%  2 of 2 materials`, '']);
});
