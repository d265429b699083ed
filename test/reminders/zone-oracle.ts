// Compares next occurrences with Python's zoneinfo, which has its own reading of its own copy of the time zone database.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { nextOccurrence } from '../../services/reminders/reminders/next-occurrence.ts';

const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
/** Just after midnight, where clocks change in most of Europe and America, morning, evening, just before midnight. */
const MINUTES = [0, 150, 540, 1170, 1425];
const HOURS_BEFORE = 60;

export const hasZoneinfo =
  spawnSync('python3', ['-c', 'import zoneinfo; zoneinfo.ZoneInfo("UTC")']).status === 0;

export type Span = { firstYear: number; lastYear: number; sampleDays: number; reachDays: number };
export type Comparison = {
  compared: number;
  zones: number;
  /** Zones that Node does not know. */
  unknown: string[];
  /** "zone date minute: here | there", by zone. */
  differences: Map<string, string[]>;
};

/** Every zone that Python knows, on every `sampleDays`-th day and on all days up to `reachDays` from a change of clocks. */
export async function compareWithZoneinfo(span: Span): Promise<Comparison> {
  const { firstYear, lastYear, sampleDays, reachDays } = span;
  const script = join(import.meta.dirname, 'occurrences.py');
  const given = [script, firstYear, lastYear, sampleDays, reachDays, ...MINUTES].map(String);
  const python = spawn('python3', given, { stdio: ['ignore', 'pipe', 'inherit'] });
  const found: Comparison = { compared: 0, zones: 0, unknown: [], differences: new Map() };
  const unknown = new Set<string>();
  const zones = new Set<string>();
  for await (const line of createInterface({ input: python.stdout })) {
    const [zone = '', date = '', ...expected] = line.split(' ');
    zones.add(zone);
    if (unknown.has(zone)) continue;
    if (!isKnown(zone)) {
      unknown.add(zone);
      continue;
    }
    for (const [index, minuteOfDay] of MINUTES.entries()) {
      found.compared += 1;
      const here = takesPlace(zone, date, minuteOfDay);
      if (here === expected[index]) continue;
      const list = found.differences.get(zone) ?? [];
      found.differences.set(zone, list);
      list.push(`${date} ${minuteOfDay}: ${here} | ${expected[index]}`);
    }
  }
  await ended(python);
  return { ...found, zones: zones.size, unknown: [...unknown] };
}

/** Seconds since 1970 of the first occurrence after the day before `date`; "-" if it is of a later date. */
function takesPlace(zone: string, date: string, minuteOfDay: number): string {
  const day = Date.parse(`${date}T00:00Z`);
  const afterDate = new Date(day - 86_400_000).toISOString().slice(0, 10);
  const from = new Date(day - HOURS_BEFORE * 3_600_000);
  const next = nextOccurrence({ minuteOfDay, weekdays: EVERY_DAY }, zone, { from, afterDate });
  return next.date === date ? `${next.time.getTime() / 1000}` : '-';
}

function isKnown(zone: string): boolean {
  try {
    nextOccurrence({ minuteOfDay: 0, weekdays: EVERY_DAY }, zone, { from: new Date(0), afterDate: null });
    return true;
  } catch {
    return false;
  }
}

async function ended(python: ChildProcess): Promise<void> {
  if (python.exitCode === null) await once(python, 'exit');
  if (python.exitCode !== 0) throw new Error(`python3 ended with ${python.exitCode}`);
}
