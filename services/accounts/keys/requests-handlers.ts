// The rpcs of accounts.v1.ApiKeyService that store and return the requests made with keys.
import type { ApiKeyServiceHandlers } from '../../../generated/accounts/v1/ApiKeyService.ts';
import type { KeyRequestCount as CountMessage } from '../../../generated/accounts/v1/KeyRequestCount.ts';
import type {
  RefusedKeyRequestInput,
  RefusedKeyRequest as RefusedMessage,
} from '../../../generated/accounts/v1/RefusedKeyRequest.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, parseDateTime, toTimestamp } from '../../platform/instants.ts';
import { isStorable } from '../../platform/text.ts';
import { readUuid, requireUuid } from '../../platform/uuid.ts';
import type { UserDependencies } from '../users/handlers.ts';
import {
  addKeyRequests,
  insertRefusedRequests,
  KEPT_DAYS,
  type KeyRequestCount,
  listKeyRequests,
  listRefusedRequests,
  type RefusedKeyRequest,
} from './requests-sql.ts';
import { requireApiKeyIds } from './rules.ts';

const MAX_REPORTED = 1000;
const ROUTE = /^[A-Z]{3,7} \/[\w/:{}.-]{0,110}$/;
const MAX_FIELD_CHARACTERS = 100;
export const MAX_REQUEST_ID_CHARACTERS = 128;

/** Since when requests are kept and returned. */
export const keptSince = (now: Date) => new Date(now.getTime() - KEPT_DAYS * 86_400_000);

export function createKeyRequestHandlers({ database, now, newId }: UserDependencies) {
  return {
    async ReportKeyRequests(request) {
      const counts = readAll('counts', request.counts, readCount);
      const refused = readAll('refused', request.refused, readRefused);
      const time = now();
      const reportId = request.reportId ? requireUuid('report_id', request.reportId) : newId(time);
      if (counts.length > 0) await addKeyRequests(database, time, reportId, counts);
      if (refused.length > 0) await insertRefusedRequests(database, keptSince(time), refused);
      return {};
    },

    async BatchGetKeyRequests(request) {
      const ids = requireApiKeyIds(request.apiKeyIds);
      const time = now();
      const [counts, refused] = await Promise.all([
        listKeyRequests(database, time, ids),
        listRefusedRequests(database, keptSince(time), ids),
      ]);
      return { counts, refused: refused.map(toRefusedMessage) };
    },
  } satisfies Partial<AsyncHandlers<ApiKeyServiceHandlers>>;
}

export function toRefusedMessage({ requestTime, ...request }: RefusedKeyRequest): RefusedKeyRequestInput {
  return { ...request, requestTime: toTimestamp(requestTime) };
}

/** @throws INVALID_REQUEST with the field for too many, or one that `read` returns nothing for. */
function readAll<M, T>(field: string, messages: readonly M[], read: (message: M) => T | undefined): T[] {
  const all = messages.flatMap((message) => read(message) ?? []);
  if (messages.length <= MAX_REPORTED && all.length === messages.length) return all;
  throw invalidField(
    field,
    `must be at most ${MAX_REPORTED}, each with its fields as the contract has them.`,
  );
}

const isCountedStatus = (status: number) => status === 0 || (status >= 100 && status <= 599);

function readCount({ date, route, status, requests, ...of }: CountMessage): KeyRequestCount | undefined {
  const apiKeyId = readUuid(of.apiKeyId);
  const isDate = parseDateTime(`${date}T00:00:00Z`) !== undefined;
  if (apiKeyId === undefined || !isDate || !ROUTE.test(route) || !isCountedStatus(status) || requests < 1)
    return undefined;
  return { apiKeyId, date, route, status, requests };
}

function readRefused({
  requestTime,
  route,
  status,
  field,
  ...of
}: RefusedMessage): RefusedKeyRequest | undefined {
  const apiKeyId = readUuid(of.apiKeyId);
  const { requestId } = of;
  const isKept = isShort(field, MAX_FIELD_CHARACTERS) && isShort(requestId, MAX_REQUEST_ID_CHARACTERS);
  if (apiKeyId === undefined || requestTime === null || !ROUTE.test(route) || !isKept || requestId === '')
    return undefined;
  if (status < 400 || status > 599) return undefined;
  return { apiKeyId, requestTime: fromTimestamp(requestTime, 'refused'), route, status, field, requestId };
}

const isShort = (text: string, max: number) => text.length <= max && isStorable(text);
