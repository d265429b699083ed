// Loads the proto files at start, with the options that the generated types assume.
import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import {
  type ServiceDefinition as LoadedService,
  loadSync,
  type PackageDefinition,
} from '@grpc/proto-loader';
import { writeIntoOneBuffer } from './protobuf-writer.ts';
import { strictDeserializer } from './strict-requests.ts';

const protoDirectory = join(import.meta.dirname, '../../proto');

writeIntoOneBuffer();

/** `file` is a path below proto/, such as "accounts/v1/accounts.proto". */
export function loadProto(file: string): PackageDefinition {
  return loadSync(file, { includeDirs: [protoDirectory], longs: Number, enums: String, defaults: true });
}

/**
 * The definition of one service, by its full name ("accounts.v1.UserService"); it reads requests strictly.
 * D is the generated definition type of that service; the name is what ties the two together.
 */
export function serviceDefinition<D extends ServiceDefinition>(
  proto: PackageDefinition,
  fullName: string,
): D {
  const service = proto[fullName];
  // Messages and enumerations stand beside the services, and have a format.
  if (service === undefined || 'format' in service) throw new Error(`${fullName} is not in the loaded proto`);
  const packageName = fullName.slice(0, fullName.lastIndexOf('.'));
  const methods = Object.entries(service as LoadedService).map(([name, method]) => [
    name,
    { ...method, requestDeserialize: strictDeserializer(method, proto, packageName) },
  ]);
  return Object.fromEntries(methods) as D;
}
