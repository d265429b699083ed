// How much room a material takes, with its search text and all indexes, written in the order in which people add them.
import type { Material } from '../../../services/scheduling/materials/material.ts';
import { insertMaterial } from '../../../services/scheduling/materials/sql.ts';
import { createTimeMs } from '../dataset/core.ts';
import { idOf } from '../dataset/people.ts';
import { createRandom, prose } from '../dataset/words.ts';
import { openServer } from '../review-log/server.ts';

const LEARNERS = 100;
const MATERIALS_OF_LEARNER = 200;
const TITLE_CHARACTERS = 32;
const CONTENT_CHARACTERS = 272;

/** By the service's own statement, into an embedded PostgreSQL that lives as long as this takes, about a minute. */
export async function measureMaterialBytes(): Promise<number> {
  const { client, db, stop } = await openServer();
  try {
    await client.query('SET synchronous_commit = off');
    for (let index = 0; index < MATERIALS_OF_LEARNER; index += 1)
      for (let place = 0; place < LEARNERS; place += 1) {
        const userId = idOf(`learner ${place}`);
        await insertMaterial(db, userId, materialOf(userId, index, createRandom(place * 1_000_003 + index)));
      }
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

function materialOf(userId: string, index: number, random: () => number): Material {
  const time = new Date(createTimeMs(index));
  return {
    materialId: idOf(`${userId} ${index}`, time.getTime()),
    title: prose(random, TITLE_CHARACTERS),
    content: prose(random, CONTENT_CHARACTERS),
    ...{ sourceUrl: null, type: 'flashcard', revision: 0 },
    ...{ easeFactorHundredths: 250, intervalDays: 0, repetitions: 0 },
    ...{
      nextReviewTime: time,
      lastReviewedTime: null,
      createTime: time,
      updateTime: time,
      archiveTime: null,
    },
  };
}
