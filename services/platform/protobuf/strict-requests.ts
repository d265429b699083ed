// Refuses values that protobufjs would change silently: invalid UTF-8, timestamps out of range, fields of a wrong wire type.
import { isUtf8 } from 'node:buffer';
import type { MessageTypeDefinition, MethodDefinition, PackageDefinition } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { invalidField, ServiceError } from '../errors.ts';

type Method = MethodDefinition<object, object>;
/** google.protobuf.FieldDescriptorProto, as proto-loader attaches it to messages. */
type FieldDescriptor = { name: string; number: number; label: string; type: string; typeName: string };

/** How a field is checked: as text, as a timestamp, as a nested message, or not at all. */
type Rule = {
  name: string;
  wireType: number;
  isRepeated: boolean;
  holds: 'text' | 'instant' | Rules | undefined;
};
type Rules = Map<number, Rule>;

const [VARINT, FIXED64, LENGTH_DELIMITED, FIXED32] = [0, 1, 2, 5];
const WIRE_TYPES: Readonly<Record<string, number>> = {
  TYPE_STRING: LENGTH_DELIMITED,
  TYPE_BYTES: LENGTH_DELIMITED,
  TYPE_MESSAGE: LENGTH_DELIMITED,
  TYPE_DOUBLE: FIXED64,
  TYPE_FIXED64: FIXED64,
  TYPE_SFIXED64: FIXED64,
  TYPE_FLOAT: FIXED32,
  TYPE_FIXED32: FIXED32,
  TYPE_SFIXED32: FIXED32,
};

/** The range of google.protobuf.Timestamp: years 1 to 9999. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;
const MAX_NANOS = 999_999_999;
/** Items of a repeated field: twice the longest list that a handler accepts. Checked before strings are decoded. */
const MAX_ITEMS = 1000;

/**
 * Deserializes the requests of a method. Returns an invalid request as a ServiceError (INVALID_REQUEST with the field), which the
 * server throws instead of calling the handler: grpc-js reports errors that are thrown here as INTERNAL.
 */
export function strictDeserializer(
  { requestType, requestDeserialize }: Method,
  proto: PackageDefinition,
  packageName: string,
): (bytes: Buffer) => object {
  const rules = rulesOf(requestType, (typeName) => proto[typeName] ?? proto[`${packageName}.${typeName}`]);
  return (bytes) => {
    try {
      checkMessage(protobuf.Reader.create(bytes), bytes.length, rules, '');
      return requestDeserialize(bytes);
    } catch (error) {
      if (error instanceof ServiceError) return error;
      return new ServiceError('INVALID_REQUEST', {
        message: 'The request is not a message of its type.',
        cause: error,
      });
    }
  };
}

/** Terminates, since no request type is recursive. */
function rulesOf(
  { type }: MessageTypeDefinition<object, object>,
  find: (typeName: string) => PackageDefinition[string] | undefined,
): Rules {
  // The loader types descriptors as `object`; they have the fields of descriptor.proto.
  const { field: fields } = type as unknown as { field: FieldDescriptor[] };
  const holds = ({ type, typeName }: FieldDescriptor): Rule['holds'] => {
    if (type === 'TYPE_STRING') return 'text';
    if (type !== 'TYPE_MESSAGE') return undefined;
    if (typeName === 'google.protobuf.Timestamp') return 'instant';
    const found = find(typeName);
    if (found === undefined || !('serialize' in found))
      throw new Error(`${typeName} is not in the loaded proto`);
    // An entry with a format that can be serialized is a message; the loader's types do not express this.
    return rulesOf(found as MessageTypeDefinition<object, object>, find);
  };
  return new Map(
    fields.map((field) => [
      field.number,
      {
        // The name in the proto file; proto-loader uses camelCase.
        name: field.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        wireType: WIRE_TYPES[field.type] ?? VARINT,
        isRepeated: field.label === 'LABEL_REPEATED',
        holds: holds(field),
      },
    ]),
  );
}

/** Checks a message up to `end`; `prefix` precedes the field names in errors. */
function checkMessage(reader: protobuf.Reader, end: number, rules: Rules, prefix: string): void {
  const items = new Map<string, number>();
  while (reader.pos < end) {
    const tag = reader.uint32();
    const rule = rules.get(tag >>> 3);
    if (rule?.isRepeated === true) {
      const count = (items.get(rule.name) ?? 0) + 1;
      items.set(rule.name, count);
      if (count > MAX_ITEMS) throw invalidField(prefix + rule.name, `has more than ${MAX_ITEMS} items.`);
    }
    const wireType = tag & 7;
    // Repeated numbers can be packed.
    const isPacked = wireType === LENGTH_DELIMITED && rule?.isRepeated === true && rule.holds === undefined;
    if (rule !== undefined && wireType !== rule.wireType && !isPacked) {
      throw invalidField(prefix + rule.name, 'is encoded as another type.');
    }
    if (rule?.holds === undefined) reader.skipType(wireType);
    else checkField(reader, end, rule, prefix);
  }
  if (reader.pos > end) throw new RangeError('a field ends beyond its message');
}

function checkField(reader: protobuf.Reader, end: number, { name, holds }: Rule, prefix: string): void {
  const length = reader.uint32();
  const fieldEnd = reader.pos + length;
  if (fieldEnd > end) throw new RangeError('a field ends beyond its message');
  if (holds === 'text') {
    if (!isUtf8(reader.buf.subarray(reader.pos, fieldEnd))) {
      throw invalidField(prefix + name, 'must be text in UTF-8.');
    }
    reader.pos = fieldEnd;
  } else if (holds === 'instant') {
    if (!isInstant(reader, fieldEnd)) {
      throw invalidField(
        prefix + name,
        `must lie in the years 1 to 9999, with nanos from 0 to ${MAX_NANOS}.`,
      );
    }
  } else if (holds !== undefined) {
    checkMessage(reader, fieldEnd, holds, `${prefix}${name}.`);
  }
}

function isInstant(reader: protobuf.Reader, end: number): boolean {
  let seconds = 0;
  let nanos = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    // A number, or a Long if that library is installed.
    if (tag === 8) seconds = Number(reader.int64().toString());
    else if (tag === 16) nanos = reader.int32();
    else if (tag >>> 3 <= 2) return false;
    else reader.skipType(tag & 7);
  }
  return (
    reader.pos === end && seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= MAX_NANOS
  );
}
