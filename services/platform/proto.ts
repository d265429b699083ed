// Loads the proto files at start, with the options that the generated types assume.
import { join } from 'node:path';
import type { GrpcObject, ServiceClientConstructor, ServiceDefinition } from '@grpc/grpc-js';
import { loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import { writeIntoOneBuffer } from './protobuf-writer.ts';

const protoDirectory = join(import.meta.dirname, '../../proto');

writeIntoOneBuffer();

/** `file` is a path below proto/, such as "accounts/v1/accounts.proto". */
export function loadProto(file: string): PackageDefinition {
  return loadSync(file, { includeDirs: [protoDirectory], longs: Number, enums: String, defaults: true });
}

/**
 * The definition of one service, by its full name ("accounts.v1.UserService").
 * D is the generated definition type of that service; the name is what ties the two together.
 */
export function serviceDefinition<D extends ServiceDefinition>(
  proto: PackageDefinition,
  fullName: string,
): D {
  let node: unknown = loadPackageDefinition(proto);
  for (const part of fullName.split('.')) node = (node as GrpcObject)[part];
  if (typeof node !== 'function') throw new Error(`${fullName} is not in the loaded proto`);
  // loadPackageDefinition makes a client constructor of every service; its definition is untyped.
  return (node as ServiceClientConstructor).service as D;
}
