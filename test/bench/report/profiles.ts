// The costliest functions of CPU profiles, one list per process.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';

type Frame = { functionName: string; url: string; lineNumber: number };
type Profile = {
  nodes: { id: number; callFrame: Frame }[];
  samples: number[];
  timeDeltas: number[];
};

/** Loading code is not what a request costs. In microseconds. */
const START_UP_US = 4_000_000;
const IDLE = /^\((idle|program)\)$/;

/** Self time, in per cent of the time in which the process was not idle. */
export function summariseProfiles(folder: string): string {
  const files = globSync('*.cpuprofile', { cwd: folder }).toSorted();
  return files.map((file) => `\n${file}\n${summarise(readProfile(join(folder, file)))}`).join('');
}

const readProfile = (file: string): Profile => JSON.parse(readFileSync(file, 'utf8'));

function summarise({ nodes, samples, timeDeltas }: Profile): string {
  const frameOf = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  const add = (times: Map<string, number>, name: string, time: number) =>
    times.set(name, (times.get(name) ?? 0) + time);
  let elapsed = 0;
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const time = timeDeltas[index] ?? 0;
    elapsed += time;
    const frame = frameOf.get(id);
    if (frame === undefined || elapsed < START_UP_US || IDLE.test(frame.functionName)) continue;
    busy += time;
    add(functions, describe(frame), time);
    add(packages, packageOf(frame), time);
  }
  const list = (times: Map<string, number>, count: number) =>
    [...times]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, count)
      .map(([name, time]) => `${((100 * time) / busy).toFixed(1).padStart(6)} %  ${name}\n`)
      .join('');
  return `by package\n${list(packages, 12)}by function\n${list(functions, 20)}`;
}

/** Where the code comes from: a package, a part of Node, a folder of ours, or native code. */
function packageOf({ url, functionName }: Frame): string {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name !== undefined) return name;
  if (url === '') return functionName.startsWith('(') ? functionName : 'native and generated code';
  return url.replace(`file://${ROOT}/`, '').split('/').slice(0, 2).join('/');
}

function describe({ functionName, url, lineNumber }: Frame): string {
  const file = url.replace(`file://${ROOT}/`, '').replace('node_modules/', '');
  return file === '' ? functionName : `${functionName || '(anonymous)'}  ${file}:${lineNumber + 1}`;
}
