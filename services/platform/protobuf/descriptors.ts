// The descriptors of our protos, as `buf build` makes them; npm run generate writes the file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import descriptor, {
  type IDescriptorProto,
  type IFileDescriptorProto,
} from 'protobufjs/ext/descriptor/index.js';

export type DescriptorFile = {
  /** A google.protobuf.FileDescriptorProto, byte for byte as buf wrote it. */
  bytes: Uint8Array;
  name: string;
  dependencies: readonly string[];
  /** Full names of all that the file declares: services, methods, messages, fields, enums. */
  symbols: readonly string[];
};

const DESCRIPTORS = join(import.meta.dirname, '../../../proto/descriptors.binpb');
/** Field 1 of google.protobuf.FileDescriptorSet, length-delimited. */
const FILE_TAG = 10;

/** Each file comes after those that it imports. */
export function readDescriptors(): DescriptorFile[] {
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
