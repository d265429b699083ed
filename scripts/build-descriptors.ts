// Builds what reflection serves: the descriptors of our protos and of gRPC's health, as one FileDescriptorSet.
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);
export const BUF = join(root, 'node_modules/.bin/buf');
const OPTIONS = ['--as-file-descriptor-set', '--exclude-source-info', '-o', '-#format=binpb'];
const FOLDERS = ['.', 'node_modules/grpc-health-check/proto'];

/** Sets of descriptors one after the other are a set of them all. */
export function buildDescriptors(): Buffer {
  return Buffer.concat(
    FOLDERS.map((folder) => execFileSync(BUF, ['build', folder, ...OPTIONS], { cwd: root })),
  );
}
