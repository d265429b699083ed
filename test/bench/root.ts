// Where the project lies, and the folder in it that holds what the benchmark keeps between runs.
import { dirname, join } from 'node:path';

export const ROOT = dirname(dirname(import.meta.dirname));
export const CACHE = join(ROOT, '.bench');
