// The numbers of our advisory locks, in one place because they must differ: a database has one space of them for all programs.

/** "srs1" in ASCII: serializes the migrations of all our schemas. */
export const MIGRATION_LOCK = 0x73727331;

/** "srs2": serializes distributions by Citus. */
export const DISTRIBUTION_LOCK = 0x73727332;

/** "srs3": lets one process count the learners. */
export const COUNT_LOCK = 0x73727333;
