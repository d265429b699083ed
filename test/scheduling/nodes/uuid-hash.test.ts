// The hash of a user is PostgreSQL's own, or a request would count against the wrong node.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { uuidHash } from '../../../services/scheduling/nodes/uuid-hash.ts';

test('is that of PostgreSQL, for a thousand users', async () => {
  const uuids = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];
  while (uuids.length < 1000) uuids.push(randomUUID());
  const client = new Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  const { rows } = await client.query<{ hash: number }>(
    'SELECT uuid_hash(u) AS hash FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (u, n) ORDER BY n',
    [uuids],
  );
  await client.end();
  expect(uuids.map(uuidHash)).toEqual(rows.map(({ hash }) => hash));
});
