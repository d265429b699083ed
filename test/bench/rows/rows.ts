// All rows, in the order in which they run: first those that share the three systems.
import { buffers } from './buffers.ts';
import { dashboard } from './dashboard.ts';
import { due } from './due.ts';
import { list } from './list.ts';
import { memory } from './memory.ts';
import { half, steady } from './paced.ts';
import { review } from './review.ts';
import type { Row } from './row.ts';
import { search } from './search.ts';
import { searchIndex } from './search-index.ts';

export const ROWS: readonly Row[] = [
  ...[due, list, review, steady, half],
  ...[dashboard, search, searchIndex, buffers, memory],
];
