// The tables of docs/scaling.md and docs/review-log.md, from the figures.
import type { Figures, LogForm, ReviewLog } from './figures.ts';
import { largestLog, machinesOf, needOf, reviewBytes, wallsOf } from './model.ts';
import { amount } from './plot.ts';

const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const number = (value: number, digits = 3) =>
  Number(value.toPrecision(digits)).toLocaleString('en', { maximumFractionDigits: 6 });
const bytes = (value: number) => {
  const [unit, name] =
    value >= 1e12 ? [1e12, 'TB'] : value >= 1e9 ? [1e9, 'GB'] : value >= 1e6 ? [1e6, 'MB'] : [1, 'bytes'];
  return `${number(value / unit)} ${name}`;
};

/** By the name of the part of the page that each fills. */
export function toTables(figures: Figures) {
  return {
    replicas: replicas(figures),
    measured: measured(figures),
    machines: machines(figures),
    walls: walls(figures),
    'review-log': reviewLog(figures),
  };
}

function replicas(figures: Figures): string {
  const rows = Object.entries(figures.replicas).flatMap(([load, costs]) =>
    costs.map(({ replicas: count, cpuMs, perSecond, p50Ms }) => [
      ...[load, count, number(cpuMs), number(perSecond), number(p50Ms)],
    ]),
  );
  return table(['load', 'processes of each', 'CPU ms', 'requests/s', 'p50 ms'], rows);
}

function measured(figures: Figures): string {
  const { review, due } = figures.cpu;
  const log = largestLog(figures);
  const { writes } = log.plain;
  const parts = (['rest', 'scheduling', 'accounts', 'postgres', 'redis'] as const).map((part) => [
    `CPU of ${part}, ms`,
    number(review[part]),
    number(due[part]),
  ]);
  return [
    `Measured on ${figures.measuredOn} with ${figures.machine}.`,
    table(['figure', 'a review', 'a due list of 12 KB'], parts),
    table(
      ['figure', ''],
      [
        ['a review in the log, with its index entries', bytes(reviewBytes(log))],
        ['a material with its search text and index entries', bytes(figures.materialBytes)],
        ['WAL of a review, changes only', bytes(writes.walBytes)],
        [
          'WAL of a review that is the first to change its pages after a checkpoint',
          bytes(writes.walBytesAfterCheckpoint),
        ],
        [`the same with \`wal_compression = ${writes.compression}\``, bytes(writes.walBytesCompressed)],
      ],
    ),
  ].join('\n\n');
}

function machines(figures: Figures): string {
  const needs = [1e6, 1e7, 1e8].map((learners) => needOf(learners, figures));
  const counts = needs.map(machinesOf);
  return table(
    ['', ...needs.map(({ learners }) => `${amount(learners)} learners`)],
    [
      ['reviews a second at the peak', ...needs.map((need) => number(need.peakReviewsASecond))],
      ['due lists a second at the peak', ...needs.map((need) => number(need.peakListsASecond))],
      ['data after a year', ...needs.map((need) => bytes(need.bytesAYear))],
      ['machines for REST, scheduling, accounts', ...counts.map(({ services }) => services)],
      ['PostgreSQL servers needed for the disk', ...needs.map((need) => number(need.postgresByDisk, 2))],
      ['PostgreSQL servers needed for WAL', ...needs.map((need) => number(need.postgresByWal, 2))],
      ['PostgreSQL servers needed for CPU', ...needs.map((need) => number(need.postgresByCpu, 2))],
      ['PostgreSQL machines, each with a standby', ...counts.map(({ postgres }) => postgres)],
      ['Redis masters, each with a replica', ...counts.map(({ redis }) => redis)],
      [
        'cost a month, at the assumed prices',
        ...counts.map(({ dollarsAMonth }) => `$${number(dollarsAMonth, 2)}`),
      ],
    ],
  );
}

function walls(figures: Figures): string {
  const { disk, wal, cpu, redis } = wallsOf(figures);
  const lz4 = largestLog(figures).plain.writes;
  const moved = (wal * lz4.walBytesAfterCheckpoint) / lz4.walBytesCompressed;
  return table(
    ['one server is enough', 'up to', 'then'],
    [
      ['for the disk of the first year', amount(disk), 'a larger disk; then Citus, distributed by `user_id`'],
      [
        'for the WAL at the peak',
        amount(wal),
        `\`wal_compression = ${lz4.compression}\`: ${amount(moved)}; then Citus`,
      ],
      ['for the CPU at the peak', amount(cpu), 'more cores; then Citus'],
      ['for the write limit, in Redis', amount(redis), 'Redis Cluster'],
    ],
  );
}

function reviewLog(figures: Figures): string {
  const head = [
    '',
    ...figures.reviewLogs.flatMap(({ rows }) => [
      `${amount(rows)} rows`,
      `${amount(rows)}, partitioned by month`,
    ]),
  ];
  const forms = figures.reviewLogs.flatMap(({ plain, parted }): LogForm[] => [plain, parted]);
  const rowsOf = figures.reviewLogs.flatMap(({ rows }) => [rows, rows]);
  const each = (cell: (form: LogForm, rows: number) => string) =>
    forms.map((form, index) => cell(form, rowsOf[index] ?? 1));
  const sizes = (match: RegExp) =>
    each(({ sizes: of }, rows) =>
      bytes(Object.entries(of).reduce((sum, [name, size]) => sum + (match.test(name) ? size : 0), 0) / rows),
    );
  const reads = Object.keys(forms[0]?.reads ?? {}).map((name) => [
    `${name}: pages; plan + run, ms`,
    ...each(({ reads: of }) => {
      const cost = of[name];
      return `${number(cost?.pages ?? 0)}; ${number(cost?.planMs ?? 0, 2)} + ${number(cost?.runMs ?? 0, 2)}`;
    }),
  ]);
  return table(head, [
    ['a row in the table', ...sizes(/^table$/)],
    ['a row in the primary key', ...sizes(/pkey$/)],
    ['a row in the index by time', ...sizes(/latest$/)],
    ['CPU of PostgreSQL to apply a review, µs', ...each(({ writes }) => number(writes.cpuUs))],
    ['WAL of it, changes only', ...each(({ writes }) => bytes(writes.walBytes))],
    ['WAL of it, first after a checkpoint', ...each(({ writes }) => bytes(writes.walBytesAfterCheckpoint))],
    ...reads,
    ['remove the oldest month: CPU; WAL', ...figures.reviewLogs.flatMap(removal)],
  ]);
}

function removal({ plain, parted }: ReviewLog): string[] {
  const { delete: deleted, vacuum } = plain.retention;
  const { drop } = parted.retention;
  const say = (cpuMs: number, wal: number) => `${number(cpuMs / 1000, 2)} s; ${bytes(wal)}`;
  return [
    say(deleted.cpuMs + vacuum.cpuMs, deleted.walBytes + vacuum.walBytes),
    say(drop.cpuMs, drop.walBytes),
  ];
}
