// Watches whether the database responds, and queries it only if no other statement succeeds.
import { endsWithin } from '../concurrency.ts';
import type { Database } from './database.ts';

const LOOK_MS = 500;
const ANSWER_MS = 1000;

/**
 * Calls `onChange` when the database stops responding and when it responds again; the initial state is responding. A busy
 * database whose statements succeed never counts as lost. @returns a function that stops watching.
 */
export function watchDatabase(database: Database, onChange: (isAnswering: boolean) => void): () => void {
  let answers = database.answers();
  let isAnswering = true;
  let isAsking = false;
  const look = async () => {
    if (isAsking) return;
    isAsking = true;
    const was = answers;
    const now = database.answers() !== was || (await answersNow(database)) || database.answers() !== was;
    answers = database.answers();
    isAsking = false;
    if (now === isAnswering || ended) return;
    isAnswering = now;
    onChange(now);
  };
  let ended = false;
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

/** Whether SELECT 1 succeeds within a second. */
function answersNow(database: Database): Promise<boolean> {
  const asked = database.query({ text: 'SELECT 1', values: [] });
  return endsWithin(asked, ANSWER_MS).catch(() => false);
}
