// gRPC reflection, v1 and v1alpha, with the descriptors that buf builds: tools compare them strictly.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
// Node finds no names in this CommonJS module, only its default.
import descriptor, { type IFileDescriptorSet } from 'protobufjs/ext/descriptor/index.js';

const { FileDescriptorProto, FileDescriptorSet } = descriptor;

/** As `buf build` makes them; npm run generate writes the file. */
const DESCRIPTORS = join(import.meta.dirname, '../../../proto/descriptors.binpb');

/** Lists the services with these full names. */
export function addReflection(server: Server, services: readonly string[]): void {
  // The type of the message has these fields.
  const { file: files } = FileDescriptorSet.decode(
    readFileSync(DESCRIPTORS),
  ) as unknown as IFileDescriptorSet;
  const fileDescriptorProtos = files.map((file) => Buffer.from(FileDescriptorProto.encode(file).finish()));
  // Given the loaded definitions, it would merge the files of a package into one, which strict tools refuse.
  const described = {
    format: 'Protocol Buffer 3 EnumDescriptorProto',
    type: {},
    fileDescriptorProtos,
  } as const;
  new ReflectionService({ described }, { services: [...services] }).addToServer(server);
}
