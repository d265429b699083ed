// Loads the proto files at start, with the options that the generated types assume.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON, type PackageDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';

const protoDirectory = join(import.meta.dirname, '../../../proto');

/** How messages become objects: absent fields get their defaults, 64-bit integers become numbers, enums become names. */
export const OBJECTS = { longs: Number, enums: String, defaults: true } as const;

const loaded = new Map<string, { root: protobuf.Root; definitions: PackageDefinition }>();

function load(packageName: string) {
  const known = loaded.get(packageName) ?? read(packageName);
  loaded.set(packageName, known);
  return known;
}

function read(packageName: string) {
  const folder = packageName.replace('.', '/');
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(protoDirectory, target);
  const files = readdirSync(join(protoDirectory, folder)).map((file) => `${folder}/${file}`);
  // Also keeps comments that begin with //; by default, only those that begin with /** are kept.
  root.loadSync(files, { alternateCommentMode: true });
  return { root, definitions: fromJSON(root.toJSON(), OBJECTS) };
}

/** All files of a package, such as "accounts.v1", read once by a process: parsing them and making their codecs takes 0.1 s. */
export function loadProto(packageName: string): PackageDefinition {
  return load(packageName).definitions;
}

/** An enumeration, with its comments, by its full name, "accounts.v1.Plan". */
export function enumerationOf(fullName: string): protobuf.Enum {
  return load(fullName.slice(0, fullName.lastIndexOf('.'))).root.lookupEnum(fullName);
}

/** The type of the responses of an rpc of a loaded package, by its path, "/package.Service/Rpc". */
export function responseTypeOf(path: string): protobuf.Type {
  const [, service = '', rpc = ''] = path.split('/');
  const packageName = service.slice(0, service.lastIndexOf('.'));
  const method = load(packageName).root.lookupService(service).methods[rpc];
  method?.resolve();
  const type = method?.resolvedResponseType;
  if (!type) throw new Error(`${path} is not in the loaded proto`);
  return type;
}

/**
 * The definition of one service, by its full name ("accounts.v1.UserService").
 * D is the generated definition type of the service with that name.
 */
export function serviceDefinition<D extends ServiceDefinition>(
  proto: PackageDefinition,
  fullName: string,
): D {
  const service = proto[fullName];
  // The package object also has messages and enums, which have a format; services have none.
  if (service === undefined || 'format' in service) throw new Error(`${fullName} is not in the loaded proto`);
  // The name determines D.
  return service as unknown as D;
}
