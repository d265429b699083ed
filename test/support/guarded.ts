// A server behind the load-shedding guard, whose work the test lets go.
import Fastify from 'fastify';
import { expect } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { type Admission, registerAdmission } from '../../services/platform/http/admission.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { observeHttp } from '../../services/platform/observability/observe.ts';
import { registerErrors } from '../../services/rest/errors.ts';

/** Turns of the event loop, a second of them: beyond it something hangs. */
const MAX_TURNS = 300_000;

/** The guard in a real server whose two routes wait until they are let go, for keys named in a header. */
export function startGuarded(options: Partial<Pick<Admission, 'readCapacity' | 'metrics' | 'refusal'>> = {}) {
  const app = Fastify();
  let gate = Promise.withResolvers<void>();
  let arrived = 0;
  let working = 0;
  observeHttp(app, 'rest', options.metrics ?? createMetrics());
  registerErrors(app, createLogger('test', 'silent'));
  app.addHook('onRequest', async (request) => {
    arrived += 1;
    if (request.headers['x-key'] === 'bad') throw new ServiceError('UNAUTHORIZED');
  });
  registerAdmission(app, {
    tier: 'rest',
    capacity: 128,
    readCapacity: 96,
    keyOf: ({ headers }) => String(headers['x-key']),
    refusal: '{}',
    ...options,
  });
  const wait = async () => {
    working += 1;
    await gate.promise;
    return {};
  };
  app.get('/', wait);
  app.post('/', { config: { isWrite: true } }, wait);
  const answers: number[] = [];
  /** Sends `count` requests, each once the one before is at work or answered; returns how many were answered. */
  const send = async (method: 'GET' | 'POST', key: string, count: number): Promise<number> => {
    const before = answers.length;
    for (let index = 0; index < count; index += 1) {
      const settled = working + answers.length;
      void app.inject({ method, url: '/', headers: { 'x-key': key } }).then(({ statusCode, headers }) => {
        answers.push(statusCode);
        if (statusCode === 503) expect(headers['retry-after']).toBe('1');
      });
      for (let turn = 0; working + answers.length === settled; turn += 1) {
        if (turn === MAX_TURNS) throw new Error('a request is neither at work nor answered');
        await new Promise(setImmediate);
      }
    }
    return answers.length - before;
  };
  /** Lets all that is at work be answered; what comes later waits anew. */
  const release = () => {
    gate.resolve();
    gate = Promise.withResolvers();
  };
  return { app, send, release, answers, arrived: () => arrived };
}
