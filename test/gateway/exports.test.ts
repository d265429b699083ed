// Exports of a user: texts that a spreadsheet would run, and clients that do not stay to read them.
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { test } from '../fixtures.ts';
import { OPERATOR, startTestGateway } from '../support/gateway.ts';
import { CALL } from '../support/scheduling.ts';

test.for(['jsonl', 'csv'])(
  'an export as %s whose client has gone before its first byte asks scheduling for nothing',
  async (form, { system, user }) => {
    const client = new AbortController();
    const [gone, recorded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gateway = await startTestGateway(system, undefined, async (rpc, make) => {
      if (rpc === 'getUser') {
        client.abort();
        await gone.promise;
      }
      const answer = await make();
      if (rpc === 'recordUserEvent') recorded.resolve();
      return answer;
    });
    gateway.server.on('request', (_request, response) => response.once('close', gone.resolve));
    const rpcs = await gateway.rpcsOf(async () => {
      const headers = { authorization: `Bearer ${OPERATOR}` };
      const url = `${gateway.origin}/exports/users/${user.userId}?as=${form}`;
      await expect(fetch(url, { headers, signal: client.signal })).rejects.toThrow('aborted');
      await recorded.promise;
      await setImmediate();
    });
    await gateway.stop();
    expect(rpcs).toEqual(['getUser', 'recordUserEvent']);
  },
);

test.for(['=1+1', '+1', '-1', '@a', '\tb'])(
  'the title %j has an apostrophe in front in the CSV of a timeline, and not in JSONL',
  async (title, { gateway, user: { userId } }) => {
    const { material } = await gateway.clients.materials.createMaterial({ userId, title }, CALL);
    const materialId = material?.materialId ?? '';
    await gateway.clients.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    const save = async (format: string) => {
      const headers = { authorization: `Bearer ${OPERATOR}` };
      const url = `${gateway.origin}/exports/users/${userId}/timeline.${format}?kind=REVIEW`;
      return (await fetch(url, { headers })).text();
    };
    const [head = '', row = ''] = (await save('csv')).split('\r\n');
    expect(row.split(',')[head.split(',').indexOf('materialTitle')]).toBe(`'${title}`);
    expect(JSON.parse(await save('jsonl'))).toMatchObject({ materialTitle: title });
  },
);
