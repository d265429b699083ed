// Reads a file as npm run import does, without a service.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { TimestampInput } from '../../generated/google/protobuf/Timestamp.ts';
import type { MaterialRecordInput } from '../../generated/scheduling/v1/MaterialRecord.ts';
import { createFindings, type Reason } from '../../services/moving/findings.ts';
import { type Form, openCollectionFile } from '../../services/moving/open.ts';
import { openWorkplace } from '../../services/moving/workplace.ts';

export const NOW_MS = Date.parse('2026-06-01T12:00:00Z');

type ReadFile = {
  form: Form;
  settings: readonly object[];
  records: MaterialRecordInput[];
  reasons: Reason[];
  left: Record<string, number>;
};

/** All that is in the file. @throws as the import does. */
export async function readFileOf(
  path: string,
  { timeZone = 'UTC', as }: { timeZone?: string; as?: Form } = {},
): Promise<ReadFile> {
  const workplace = await openWorkplace();
  try {
    const collection = await openCollectionFile(path, { workplace, timeZone, nowMs: NOW_MS, as });
    const findings = createFindings();
    const records: MaterialRecordInput[] = [];
    try {
      for await (const record of collection.records(findings)) records.push(record);
    } finally {
      collection.close();
    }
    return {
      form: collection.form,
      settings: collection.settings,
      records,
      reasons: findings.reasons(),
      left: findings.left,
    };
  } finally {
    workplace.remove();
  }
}

/** A folder of the test file's own, and files in it. */
export function ownFolder() {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moving-test-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  let count = 0;
  return {
    path: () => folder,
    async file(content: string | Buffer): Promise<string> {
      count += 1;
      const path = join(folder, `file-${count}`);
      await writeFile(path, content);
      return path;
    },
  };
}

/** An instant of a message, as text. */
export function iso(time: TimestampInput | null | undefined): string | undefined {
  if (time === null || time === undefined) return undefined;
  return new Date(Number(time.seconds) * 1000 + (time.nanos ?? 0) / 1_000_000).toISOString();
}
