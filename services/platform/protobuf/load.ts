// Loads the proto files at start, with the options that the generated types assume.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON, type PackageDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';

const protoDirectory = join(import.meta.dirname, '../../../proto');

/** How messages look as objects: what is absent has its default, a number of 64 bits is a number, an enum its name. */
const OBJECTS = { longs: Number, enums: String, defaults: true } as const;

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
  root.loadSync(readdirSync(join(protoDirectory, folder)).map((file) => `${folder}/${file}`));
  return { root, definitions: fromJSON(root.toJSON(), OBJECTS) };
}

/** All files of a package, such as "accounts.v1", read once by a process: parsing them and making their codecs takes 0.1 s. */
export function loadProto(packageName: string): PackageDefinition {
  return load(packageName).definitions;
}

/**
 * Makes of a message that a handler of rpc `path` returns what its client gets, without the bytes between: a copy with all
 * defaults, and the size in bytes that it would have.
 * @throws Error like the serializer of the message.
 */
export function responseCopier(path: string): (message: unknown) => { copy: object; size: () => number } {
  const [, service = '', rpc = ''] = path.split('/');
  const packageName = service.slice(0, service.lastIndexOf('.'));
  const { root } = load(packageName);
  const method = root.lookupService(service).methods[rpc];
  if (method === undefined) throw new Error(`${path} is not in the loaded proto`);
  method.resolve();
  const type = method.resolvedResponseType;
  if (type === null) throw new Error(`${path} has no type of response`);
  return (message) => {
    // As the serializers of proto-loader do; the codec itself checks the rest.
    if (Array.isArray(message)) throw new Error(`a response must be an object of ${type.name}`);
    const checked = type.fromObject(message as object);
    return { copy: type.toObject(checked, OBJECTS), size: () => type.encode(checked).len };
  };
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
