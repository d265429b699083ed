// How much room a material takes, with its search text and all indexes, written in the order in which people add them.
import { copyRows, TABLES } from '../dataset/copy.ts';
import { createTimeMs } from '../dataset/core.ts';
import { idOf } from '../dataset/people.ts';
import { createRandom, prose } from '../dataset/words.ts';
import { openServer } from '../review-log/server.ts';

const LEARNERS = 250;
const MATERIALS_OF_LEARNER = 200;
const TITLE_CHARACTERS = 32;
const CONTENT_CHARACTERS = 272;

/** Of an embedded PostgreSQL that lives as long as this takes, about a minute. */
export async function measureMaterialBytes(): Promise<number> {
  const { client, stop } = await openServer();
  try {
    const userIds = Array.from({ length: LEARNERS }, (_, number) => idOf(`learner ${number}`));
    await copyRows(client, TABLES.materials, materialRows(userIds));
    await copyRows(client, TABLES.search, searchRows(userIds));
    await client.query('VACUUM ANALYZE');
    const { rows } = await client.query<{ bytes: number }>(
      `SELECT (pg_total_relation_size('scheduling.materials') + pg_total_relation_size('scheduling.material_search'))::float8
         AS bytes`,
    );
    return Math.round((rows[0]?.bytes ?? 0) / (LEARNERS * MATERIALS_OF_LEARNER));
  } finally {
    await stop();
  }
}

function* each(userIds: readonly string[]) {
  for (let index = 0; index < MATERIALS_OF_LEARNER; index += 1)
    for (const [place, userId] of userIds.entries()) {
      const random = createRandom(place * 1_000_003 + index);
      const materialId = idOf(`${userId} ${index}`, createTimeMs(index));
      yield {
        userId,
        materialId,
        index,
        title: prose(random, TITLE_CHARACTERS),
        content: prose(random, CONTENT_CHARACTERS),
      };
    }
}

function* materialRows(userIds: readonly string[]) {
  for (const { userId, materialId, index, title, content } of each(userIds)) {
    const time = new Date(createTimeMs(index));
    yield [userId, materialId, title, content, null, 'flashcard', 250, 15, 3, time, time, 3, time, time];
  }
}

function* searchRows(userIds: readonly string[]) {
  for (const { userId, materialId, title, content } of each(userIds))
    yield [userId, materialId, title.toLowerCase(), content.toLowerCase(), ''];
}
