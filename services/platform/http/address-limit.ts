// How requests of one address are counted, where anybody may ask: options of @fastify/rate-limit.
import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import { addressOf } from './server.ts';

/** In a minute. One subscriber has all IPv6 addresses that share their first 64 bits. */
export const PER_ADDRESS = {
  timeWindow: 60_000,
  keyGenerator: (request: FastifyRequest) => rateLimit.normalizeIP(addressOf(request), 64),
};
