// All rows, in the order in which they run: first those that share the three systems.
import { buffers } from './buffers.ts';
import { dashboard } from './dashboard.ts';
import { HTTP_ROWS } from './http.ts';
import { importing } from './import.ts';
import { memory } from './memory.ts';
import { prediction } from './prediction.ts';
import type { Row } from './row.ts';
import { search } from './search.ts';
import { searchIndex } from './search-index.ts';
import { training } from './training.ts';

export const ROWS: readonly Row[] = [
  ...HTTP_ROWS,
  dashboard,
  search,
  searchIndex,
  buffers,
  memory,
  importing,
  prediction,
  training,
];
