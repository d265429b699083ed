// Which rows have changed, from a logical replication slot with PostgreSQL's own output plugin, pgoutput.
// Its messages: https://www.postgresql.org/docs/15/protocol-logicalrep-message-formats.html
import type { Client } from 'pg';

const SLOT = 'srs_copy';
/** A transaction is never divided, so a round can be longer. */
const CHANGES_PER_ROUND = 5000;

type Changes = {
  /** Of each changed table: the keys of its changed rows, each as a JSON object. */
  keys: Map<number, Set<string>>;
  transactionIds: Set<number>;
  /** Where the slot continues; undefined if nothing has changed. */
  endLsn: string | undefined;
};

/** Whether an earlier copy was ended before it had copied everything. */
export async function isRecording(source: Client): Promise<boolean> {
  const { rowCount } = await source.query(
    'SELECT FROM pg_replication_slots WHERE slot_name = $1 AND database = current_database()',
    [SLOT],
  );
  return rowCount !== 0;
}

/** Every change of `schemas` from here on is found, until stopRecording. */
export async function startRecording(source: Client, schemas: readonly string[]): Promise<void> {
  await source.query(`DROP PUBLICATION IF EXISTS ${SLOT}`);
  await source.query(`CREATE PUBLICATION ${SLOT} FOR TABLES IN SCHEMA ${schemas.join(', ')}`);
  await source.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, [SLOT]);
}

export async function stopRecording(source: Client): Promise<void> {
  await source.query('SELECT pg_drop_replication_slot($1)', [SLOT]);
  await source.query(`DROP PUBLICATION ${SLOT}`);
}

/** `nextChanges` reads what is on the disk: with synchronous_commit = off, a commit can come there later. */
export async function flushLog(source: Client): Promise<void> {
  // Not beyond this server: a standby may be away.
  await source.query(
    `BEGIN; SET LOCAL synchronous_commit = local; SELECT pg_logical_emit_message(true, '${SLOT}', ''); COMMIT`,
  );
}

/** The next changes after those that were passed to `forget`. */
export async function nextChanges(source: Client): Promise<Changes> {
  const { rows } = await source.query<{ data: Buffer }>(
    `SELECT data FROM pg_logical_slot_peek_binary_changes($1, NULL, $2, 'proto_version', '1', 'publication_names', $3)`,
    [SLOT, CHANGES_PER_ROUND, SLOT],
  );
  return decode(rows.map(({ data }) => data));
}

export async function forget(source: Client, endLsn: string): Promise<void> {
  await source.query('SELECT pg_replication_slot_advance($1, $2)', [SLOT, endLsn]);
}

type Relation = { name: string; isKey: boolean }[];

function decode(messages: readonly Buffer[]): Changes {
  const relations = new Map<number, Relation>();
  const changes: Changes = { keys: new Map(), transactionIds: new Set(), endLsn: undefined };
  const note = (oid: number, key: string) => {
    const keys = changes.keys.get(oid) ?? new Set();
    changes.keys.set(oid, keys.add(key));
  };
  for (const message of messages) {
    const kind = String.fromCharCode(message[0] ?? 0);
    const reader = createReader(message, 1);
    if (kind === 'B') {
      reader.skip(16);
      changes.transactionIds.add(reader.uint32());
    } else if (kind === 'C') {
      reader.skip(9);
      changes.endLsn = `${reader.uint32().toString(16)}/${reader.uint32().toString(16)}`;
    } else if (kind === 'R') {
      const oid = reader.uint32();
      relations.set(oid, readRelation(reader));
    } else if ('IUD'.includes(kind)) {
      const oid = reader.uint32();
      const relation = relations.get(oid);
      if (relation === undefined) throw new Error('a change of a table that was not described');
      // An update that changes the key has the former key first.
      while (!reader.isAtEnd()) {
        reader.skip(1);
        note(oid, readKey(reader, relation));
      }
    } else if (kind === 'T')
      throw new Error(
        'A table of DATABASE_URL was truncated, which cannot be followed. ' +
          `Run SELECT pg_drop_replication_slot('${SLOT}') there, and copy to another database that is migrated and empty.`,
      );
  }
  return changes;
}

function readRelation(reader: Reader): Relation {
  reader.text();
  reader.text();
  reader.skip(1);
  return Array.from({ length: reader.uint16() }, () => {
    const isKey = reader.uint8() === 1;
    const name = reader.text();
    reader.skip(8);
    return { name, isKey };
  });
}

/** The key of a tuple as a JSON object of texts, in the order of the columns. */
function readKey(reader: Reader, relation: Relation): string {
  const key: Record<string, string> = {};
  const count = reader.uint16();
  for (let index = 0; index < count; index += 1) {
    const column = relation[index];
    if (String.fromCharCode(reader.uint8()) !== 't') continue;
    const value = reader.bytes(reader.uint32());
    if (column?.isKey) key[column.name] = value.toString('utf8');
  }
  return JSON.stringify(key);
}

type Reader = ReturnType<typeof createReader>;
function createReader(buffer: Buffer, start: number) {
  let at = start;
  const move = (length: number) => {
    at += length;
    return at - length;
  };
  return {
    skip: (length: number) => void move(length),
    uint8: () => buffer.readUInt8(move(1)),
    uint16: () => buffer.readUInt16BE(move(2)),
    uint32: () => buffer.readUInt32BE(move(4)),
    bytes: (length: number) => buffer.subarray(move(length), at),
    /** Up to a zero byte. */
    text() {
      const end = buffer.indexOf(0, at);
      return buffer.toString('utf8', move(end - at + 1), end);
    },
    isAtEnd: () => at >= buffer.length,
  };
}
