// Sends the records of a collection to scheduling, in calls of some hundred materials, and adds up what became of them.
import { setImmediate } from 'node:timers/promises';
import type { ImportUserDataRequestInput } from '../../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type { ImportUserDataResponse } from '../../../generated/scheduling/v1/ImportUserDataResponse.ts';
import type { MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { SettingsVersionInput } from '../../../generated/scheduling/v1/SettingsVersion.ts';
import { sizeOf } from '../../moving/record.ts';

/** A call ends with the first of these, as a batch of scheduling does. What it stored stays, and is shown. */
const MATERIALS_OF_CALL = 100;
const REVIEWS_OF_CALL = 1000;
const BYTES_OF_CALL = 1024 * 1024;
/** While scheduling stores one, it reads the next. */
const CALLS_AT_ONCE = 2;
const BYTES_OF_MESSAGE = 16 * 1024;
/** Of a call: it waits its turn among the imports of others. */
const DEADLINE_MS = 300_000;

export type Counts = { new: number; changed: number; unchanged: number; left: number };
export type Problem = { kind: string; count: number; examples: string[] };
export type Outcome = { materials: Counts; reviews: Counts; problems: Problem[] };

export type ImportCall = (
  messages: Iterable<ImportUserDataRequestInput>,
  options: { requestId: string; deadlineMs: number },
) => Promise<ImportUserDataResponse>;

type Sending = {
  userId: string;
  dryRun: boolean;
  settings: readonly SettingsVersionInput[];
  /** Called with the number of materials of each call. */
  advance(materials: number): void;
  /** Once true, no further material is begun. */
  isStopped(): boolean;
};

/** What is sent is added to `outcome` as each call ends, so that it holds what is stored also where a later call fails. */
export async function sendRecords(
  importUserData: ImportCall,
  records: AsyncIterable<MaterialRecordInput>,
  { userId, dryRun, settings, advance, isStopped }: Sending,
  outcome: Outcome,
): Promise<void> {
  const options = { userId, dryRun };
  const withSettings = [{ options }, { settings: [...settings] }];
  const send = (messages: readonly ImportUserDataRequestInput[]) =>
    importUserData(messages, { requestId: crypto.randomUUID(), deadlineMs: DEADLINE_MS });
  if (settings.length > 0 && !dryRun) await send(withSettings);
  // A dry run stores no settings, so that each of its calls brings them.
  const begun = dryRun ? withSettings : [{ options }];
  const sent: Promise<void>[] = [];
  try {
    for await (const call of toCalls(records, isStopped)) {
      if (sent.length >= CALLS_AT_ONCE) await sent.shift();
      const messages = [...begun, ...call.map((materials) => ({ materials }))];
      const sending = send(messages).then((response) => {
        advance(call.flat().filter(({ material }) => material).length);
        add(outcome, response);
      });
      // Awaited in a later turn.
      sending.catch(() => {});
      sent.push(sending);
    }
    while (sent.length > 0) await sent.shift();
  } finally {
    await Promise.allSettled(sent);
  }
}

type Messages = MaterialRecordInput[][];

/** The messages of each call. A material's records stay in one call, and once it is stopped none is begun. */
async function* toCalls(
  records: AsyncIterable<MaterialRecordInput>,
  isStopped: () => boolean,
): AsyncGenerator<Messages> {
  let call: Messages = [];
  let [materials, reviews, bytes, bytesOfMessage] = [0, 0, 0, BYTES_OF_MESSAGE];
  let isContinued = false;
  for await (const record of records) {
    const isFull = materials >= MATERIALS_OF_CALL || reviews >= REVIEWS_OF_CALL || bytes >= BYTES_OF_CALL;
    if (!isContinued && isStopped()) break;
    if (!isContinued && isFull) {
      yield call;
      if (isStopped()) return;
      call = [];
      [materials, reviews, bytes, bytesOfMessage] = [0, 0, 0, BYTES_OF_MESSAGE];
    }
    if (bytesOfMessage >= BYTES_OF_MESSAGE) {
      // Reading a file never waits, so without this the calls in progress would stall.
      await setImmediate();
      call.push([]);
      bytesOfMessage = 0;
    }
    call.at(-1)?.push(record);
    materials += isContinued ? 0 : 1;
    reviews += record.reviews?.length ?? 0;
    isContinued = record.continues ?? false;
    bytes += sizeOf(record);
    bytesOfMessage += sizeOf(record);
  }
  if (call.length > 0) yield call;
}

export function emptyOutcome(): Outcome {
  const none = () => ({ new: 0, changed: 0, unchanged: 0, left: 0 });
  return { materials: none(), reviews: none(), problems: [] };
}

function add(outcome: Outcome, response: ImportUserDataResponse): void {
  for (const what of ['materials', 'reviews'] as const) {
    const counts = response[what];
    if (counts === null) continue;
    outcome[what].new += counts.new;
    outcome[what].changed += counts.changed;
    outcome[what].unchanged += counts.unchanged;
    outcome[what].left += counts.leftOut;
  }
  for (const { kind, count, examples } of response.problems) {
    const known = outcome.problems.find((problem) => problem.kind === kind);
    if (known === undefined) outcome.problems.push({ kind, count, examples: [...examples] });
    else {
      known.count += count;
      known.examples.push(...examples.slice(0, 5 - known.examples.length));
    }
  }
}
