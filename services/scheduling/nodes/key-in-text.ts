// Writes the user into the text of a statement for a node of Citus, which then plans it once instead of twice.
import type { Statement } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';

/**
 * A statement that asks for it, with its key as a constant, so that Citus plans it straight for the shard. With a parameter it plans,
 * writes the statement for the shard as text, and plans that. Others are returned as they are: what reads more than one table costs
 * more when it is parsed each time.
 */
export function withKeyInText(statement: Statement): Statement {
  const [key, ...values] = statement.values;
  if (!statement.keyInText || typeof key !== 'string' || !isUuid(key)) return statement;
  const toSql = (_: string, number: string) => (number === '1' ? `'${key}'` : `$${Number(number) - 1}`);
  return { text: statement.text.replaceAll(/\$(\d+)/g, toSql), values };
}
