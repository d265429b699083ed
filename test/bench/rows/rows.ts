// All rows, in the order in which they run: first those that share the three systems.
import { due } from './due.ts';
import { list } from './list.ts';
import { half, steady } from './paced.ts';
import { review } from './review.ts';
import type { Row } from './row.ts';

export const ROWS: readonly Row[] = [due, list, review, steady, half];
