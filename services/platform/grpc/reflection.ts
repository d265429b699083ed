// gRPC reflection, v1 and v1alpha, with the descriptors that buf builds: tools compare them strictly.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Server, type ServerDuplexStream, type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import descriptor, {
  type IDescriptorProto,
  type IFileDescriptorProto,
} from 'protobufjs/ext/descriptor/index.js';

type Request = {
  host: string;
  messageRequest?: string;
  listServices?: string;
  fileByFilename?: string;
  fileContainingSymbol?: string;
};
type Response = Record<string, unknown>;

const package_ = createRequire(import.meta.url).resolve('@grpc/reflection/package.json');
const VERSIONS = ['v1', 'v1alpha'];

/** Lists the services with these full names. Our protos have no extensions. */
export function addReflection(server: Server, services: readonly string[]): void {
  const respond = createResponder(readDescriptors(), services);
  const ServerReflectionInfo = (call: ServerDuplexStream<Request, Response>) => {
    call.on('data', (request: Request) => {
      if (call.write(respond(request))) return;
      // Nothing more is read until the client has read its answers, or they would pile up here.
      call.pause();
      call.once('drain', () => call.resume());
    });
    call.on('end', () => call.end());
  };
  for (const version of VERSIONS) {
    const file = join(dirname(package_), `build/proto/grpc/reflection/${version}/reflection.proto`);
    const loaded = loadSync(file, { longs: Number, enums: String, oneofs: true });
    // The name is that of a service.
    const definition = loaded[`grpc.reflection.${version}.ServerReflection`];
    server.addService(definition as ServiceDefinition, { ServerReflectionInfo });
  }
}

function createResponder(files: readonly DescriptorFile[], services: readonly string[]) {
  const byName = new Map(files.map((file) => [file.name, file]));
  const bySymbol = new Map(files.flatMap((file) => file.symbols.map((symbol) => [symbol, file] as const)));
  /** A file and all that it imports, directly or not. */
  const withImports = (file: DescriptorFile): DescriptorFile[] => {
    const found = new Set([file]);
    for (const { dependencies } of found)
      for (const name of dependencies) {
        const imported = byName.get(name);
        if (imported !== undefined) found.add(imported);
      }
    return [...found];
  };
  const answer = ({ messageRequest, fileByFilename = '', fileContainingSymbol = '' }: Request): Response => {
    switch (messageRequest) {
      case 'listServices':
        return { listServicesResponse: { service: services.map((name) => ({ name })) } };
      case 'fileByFilename':
      case 'fileContainingSymbol': {
        const file = byName.get(fileByFilename) ?? bySymbol.get(fileContainingSymbol);
        if (file === undefined) return refusal(status.NOT_FOUND, 'There is no such file or symbol.');
        return {
          fileDescriptorResponse: { fileDescriptorProto: withImports(file).map(({ bytes }) => bytes) },
        };
      }
      case 'fileContainingExtension':
      case 'allExtensionNumbersOfType':
        return refusal(status.NOT_FOUND, 'There are no extensions.');
      default:
        return refusal(status.UNIMPLEMENTED, 'The request is unknown.');
    }
  };
  return (request: Request): Response => ({
    validHost: request.host,
    originalRequest: request,
    ...answer(request),
  });
}

function refusal(errorCode: status, errorMessage: string): Response {
  return { errorResponse: { errorCode, errorMessage } };
}

type DescriptorFile = {
  /** A google.protobuf.FileDescriptorProto, byte for byte as buf wrote it. */
  bytes: Uint8Array;
  name: string;
  dependencies: readonly string[];
  /** Full names of all that the file declares: services, methods, messages, fields, enums. */
  symbols: readonly string[];
};

/** As `buf build` makes them; npm run generate writes the file. */
const DESCRIPTORS = join(import.meta.dirname, '../../../proto/descriptors.binpb');
/** Field 1 of google.protobuf.FileDescriptorSet, length-delimited. */
const FILE_TAG = 10;

/** Each file comes after those that it imports. */
function readDescriptors(): DescriptorFile[] {
  const reader = protobuf.Reader.create(readFileSync(DESCRIPTORS));
  const files: DescriptorFile[] = [];
  while (reader.pos < reader.len) {
    if (reader.uint32() !== FILE_TAG) throw new Error(`${DESCRIPTORS} is not a FileDescriptorSet`);
    const bytes = reader.bytes();
    // Only to learn the names: this package drops fields of descriptors that it does not know.
    files.push(toFile(bytes, descriptor.FileDescriptorProto.decode(bytes) as IFileDescriptorProto));
  }
  return files;
}

function toFile(bytes: Uint8Array, file: IFileDescriptorProto): DescriptorFile {
  const { name = '', package: scope = '', dependency, service, messageType, enumType } = file;
  const within = (outer: string, inner = '') => (outer === '' ? inner : `${outer}.${inner}`);
  const services = (service ?? []).map((each) => within(scope, each.name));
  const methods = (service ?? []).flatMap((each) =>
    (each.method ?? []).map((method) => within(within(scope, each.name), method.name)),
  );
  const symbolsOf = (outer: string, message: IDescriptorProto): string[] => {
    const own = within(outer, message.name);
    return [
      own,
      ...(message.field ?? []).map((field) => within(own, field.name)),
      ...(message.enumType ?? []).map((each) => within(own, each.name)),
      ...(message.nestedType ?? []).flatMap((each) => symbolsOf(own, each)),
    ];
  };
  const messages = (messageType ?? []).flatMap((message) => symbolsOf(scope, message));
  const enums = (enumType ?? []).map((each) => within(scope, each.name));
  return {
    bytes,
    name,
    dependencies: dependency ?? [],
    symbols: [...services, ...methods, ...messages, ...enums],
  };
}
