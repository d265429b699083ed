// Loads the proto files at start, with the options that the generated types assume.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import {
  type ServiceDefinition as LoadedService,
  loadSync,
  type PackageDefinition,
} from '@grpc/proto-loader';
import { strictDeserializer } from './strict-requests.ts';

const protoDirectory = join(import.meta.dirname, '../../../proto');

const loaded = new Map<string, PackageDefinition>();

/** All files of a package, such as "accounts.v1", read once by a process: parsing them and making their codecs takes 0.1 s. */
export function loadProto(packageName: string): PackageDefinition {
  const known = loaded.get(packageName) ?? read(packageName);
  loaded.set(packageName, known);
  return known;
}

function read(packageName: string): PackageDefinition {
  const folder = packageName.replace('.', '/');
  const files = readdirSync(join(protoDirectory, folder)).map((file) => `${folder}/${file}`);
  return loadSync(files, { includeDirs: [protoDirectory], longs: Number, enums: String, defaults: true });
}

/**
 * The definition of one service, by its full name ("accounts.v1.UserService"); requests are deserialized strictly.
 * D is the generated definition type of the service with that name.
 */
export function serviceDefinition<D extends ServiceDefinition>(
  proto: PackageDefinition,
  fullName: string,
): D {
  const service = proto[fullName];
  // The package object also has messages and enums, which have a format; services have none.
  if (service === undefined || 'format' in service) throw new Error(`${fullName} is not in the loaded proto`);
  const packageName = fullName.slice(0, fullName.lastIndexOf('.'));
  const methods = Object.entries(service as LoadedService).map(([name, method]) => [
    name,
    { ...method, requestDeserialize: strictDeserializer(method, proto, packageName) },
  ]);
  // The name determines D.
  return Object.fromEntries(methods) as D;
}
