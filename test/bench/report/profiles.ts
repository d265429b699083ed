// The costliest functions of CPU profiles, one list per process.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

const SHOWN = 25;
const IDLE = /^\((idle|program)\)$/;

/** Self time, in per cent of the time in which the process was not idle. */
export function summariseProfiles(folder: string): string {
  const files = globSync('*.cpuprofile', { cwd: folder }).toSorted();
  return files.map((file) => `\n${file}\n${summarise(readProfile(join(folder, file)))}`).join('');
}

const readProfile = (file: string): Profile => JSON.parse(readFileSync(file, 'utf8'));

function summarise({ nodes, samples, timeDeltas }: Profile): string {
  const nameOf = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  const self = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = nameOf.get(id) ?? '?';
    self.set(name, (self.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const busy = [...self].filter(([name]) => !IDLE.test(name));
  const total = busy.reduce((sum, [, time]) => sum + time, 0);
  const costliest = busy.toSorted(([, one], [, other]) => other - one).slice(0, SHOWN);
  return costliest
    .map(([name, time]) => `${((100 * time) / total).toFixed(1).padStart(6)} %  ${name}\n`)
    .join('');
}

function describe({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const file = url.replace(`file://${ROOT}/`, '').replace('node_modules/', '');
  return file === '' ? functionName : `${functionName || '(anonymous)'}  ${file}:${lineNumber + 1}`;
}
