// Knows whether the database answers, without asking it while others do.
import type { Database } from '../postgres.ts';

const LOOK_MS = 500;
const ANSWER_MS = 1000;

/**
 * Tells `onChange` when the database stops answering and when it answers again; it is taken to answer at first. A busy
 * database, whose statements are answered, is never asked and never taken for gone. @returns what ends it.
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

/** Whether one small statement is answered within a second. */
export async function answersNow(database: Database): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    // A process that was busy for longer reads first what has arrived meanwhile: sockets come before setImmediate.
    timer = setTimeout(() => setImmediate(resolve, false), ANSWER_MS);
  });
  const asked = database.query({ text: 'SELECT 1', values: [] }).then(
    () => true,
    () => false,
  );
  return Promise.race([asked, late]).finally(() => clearTimeout(timer));
}
