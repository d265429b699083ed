// Sends the records of a collection to scheduling, in calls of some hundred materials, and adds up what became of them.
import type { ImportUserDataRequestInput } from '../../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type { ImportUserDataResponse } from '../../../generated/scheduling/v1/ImportUserDataResponse.ts';
import type { MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import { sizeOf } from '../../moving/record.ts';

/** After each call, what it stored stays, and is shown. */
const MATERIALS_OF_CALL = 1000;
const BYTES_OF_MESSAGE = 64 * 1024;
/** Of a call: it waits its turn among the imports of others. */
const DEADLINE_MS = 600_000;

export type Counts = { new: number; changed: number; unchanged: number; left: number };
export type Problem = { kind: string; count: number; examples: string[] };
export type Outcome = { materials: Counts; reviews: Counts; problems: Problem[] };

export type ImportCall = (
  messages: AsyncIterable<ImportUserDataRequestInput>,
  options: { requestId: string; deadlineMs: number },
) => Promise<ImportUserDataResponse>;

type Sending = {
  userId: string;
  dryRun: boolean;
  /** Called with the number of materials of each message that was taken. */
  advance(materials: number): void;
  /** Once true, no further material is begun. */
  isStopped(): boolean;
};

/** What is sent is added to `outcome` as each call ends, so that it holds what is stored also where a later call fails. */
export async function sendRecords(
  importUserData: ImportCall,
  records: AsyncIterable<MaterialRecordInput>,
  { userId, dryRun, advance, isStopped }: Sending,
  outcome: Outcome,
): Promise<void> {
  const source = createSource(records, isStopped);
  // What would be there twice is told within one call only.
  const limit = dryRun ? Number.POSITIVE_INFINITY : MATERIALS_OF_CALL;
  while (await source.hasMore()) {
    async function* messages(): AsyncGenerator<ImportUserDataRequestInput> {
      yield { options: { userId, dryRun } };
      for await (const materials of source.messages(limit)) {
        yield { materials };
        advance(materials.filter(({ material }) => material).length);
      }
    }
    const call = { requestId: crypto.randomUUID(), deadlineMs: dryRun ? 10 * DEADLINE_MS : DEADLINE_MS };
    add(outcome, await importUserData(messages(), call));
  }
}

/** Hands out the records message by message; a material's records stay in one call. */
function createSource(records: AsyncIterable<MaterialRecordInput>, isStopped: () => boolean) {
  const iterator = records[Symbol.asyncIterator]();
  let next: MaterialRecordInput | undefined;
  let isContinued = false;
  const take = async () => {
    const taken = await iterator.next();
    next = taken.done ? undefined : taken.value;
  };
  let isBegun = false;
  return {
    async hasMore() {
      if (!isBegun) await take();
      isBegun = true;
      return next !== undefined && !isStopped();
    },
    async *messages(limit: number): AsyncGenerator<MaterialRecordInput[]> {
      let materials = 0;
      let message: MaterialRecordInput[] = [];
      let bytes = 0;
      for (; next !== undefined; await take()) {
        if (!isContinued && (materials >= limit || isStopped())) break;
        if (!isContinued) materials += 1;
        isContinued = next.continues ?? false;
        message.push(next);
        bytes += sizeOf(next);
        if (bytes < BYTES_OF_MESSAGE) continue;
        yield message;
        message = [];
        bytes = 0;
      }
      if (message.length > 0) yield message;
    },
  };
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
