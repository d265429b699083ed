// gRPC reflection, v1 and v1alpha, with the descriptors that buf builds: tools compare them strictly.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Server, type ServerDuplexStream, type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type DescriptorFile, readDescriptors } from '../protobuf/descriptors.ts';

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
