// A name server with the same addresses for every name; a test may change them while others look a name up.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;

/**
 * Answers every A and AAAA query with the addresses of now of that kind, every other with none, and queries for hanging.test not
 * at all. IPv6 addresses are to be written in full.
 * On 127.0.0.1, on a free port.
 */
export async function startDnsServer(first: readonly string[]) {
  let addresses = first;
  let lookups = 0;
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    // One question: labels up to an empty one, then two bytes of type and two of class.
    if (query.includes('\x07hanging\x04test\0')) return;
    const questionEnd = query.indexOf(0, HEADER_BYTES) + 5;
    const question = query.subarray(HEADER_BYTES, questionEnd);
    const type = query.readUInt16BE(questionEnd - 4);
    if (type === TYPE_A) lookups += 1;
    const records = addresses.filter((each) => typeOf(each) === type).map(addressRecord);
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    // A response, authoritative, recursion desired and available, no error.
    header.writeUInt16BE(0x8580, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, question, ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    lookups: () => lookups,
    setAddresses(next: readonly string[]) {
      addresses = next;
    },
    stop: () => void socket.close(),
  };
}

const typeOf = (address: string) => (address.includes(':') ? TYPE_AAAA : TYPE_A);

/** The name of the question, class IN, valid for 0 seconds. */
function addressRecord(address: string): Buffer {
  const type = typeOf(address);
  const bytes =
    type === TYPE_A
      ? Buffer.from(address.split('.').map(Number))
      : Buffer.from(
          address
            .split(':')
            .map((part) => part.padStart(4, '0'))
            .join(''),
          'hex',
        );
  return Buffer.concat([
    Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length]),
    bytes,
  ]);
}
