// Steady use of the public API by many clients at once, which count every request that was not answered as it should be.
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

export type Use = {
  method: 'GET' | 'POST';
  path: string;
  key: string;
  json?: object;
  headers?: Record<string, string>;
};
export type Outcome = {
  use: Use;
  /** 0: no answer. */
  status: number;
  text: string;
  ms: number;
  retryAfter?: string | undefined;
};
export type Load = {
  /** Answered as expected so far. */
  answered(): number;
  /** Ends the load once what is under way is answered; the requests that failed, told in words. */
  stop(): Promise<string[]>;
};

/**
 * A client as the documentation asks for one: it knows every origin, keeps its connection, goes to the next origin where
 * one refuses to be dialled or says "connection: close", and never repeats a request that was sent. `ca`: the authority that it
 * trusts, for origins of https.
 */
export function createClient(origins: readonly string[], start = 0, ca?: string) {
  const { Agent, request } = ca === undefined ? http : https;
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(ca !== undefined && { ca }) });
  let at = start;
  const sendOnce = (use: Use) =>
    new Promise<{ response: IncomingMessage; text: string }>((resolve, reject) => {
      const body = use.json === undefined ? undefined : JSON.stringify(use.json);
      const sent = request(
        `${origins[at % origins.length]}/v1${use.path}`,
        {
          agent,
          method: use.method,
          headers: {
            authorization: `Bearer ${use.key}`,
            ...use.headers,
            ...(body !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            }),
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk) => {
            text += chunk;
          });
          response.on('end', () => resolve({ response, text })).on('error', reject);
        },
      );
      sent.on('error', reject).end(body);
    });
  return {
    async send(use: Use): Promise<Outcome> {
      const began = performance.now();
      for (let attempt = 0; ; attempt += 1) {
        try {
          const { response, text } = await sendOnce(use);
          if (response.headers.connection === 'close') at += 1;
          return {
            use,
            status: response.statusCode ?? 0,
            text,
            ms: performance.now() - began,
            retryAfter: response.headers['retry-after'],
          };
        } catch (error) {
          const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
          if (!refused || attempt >= 2 * origins.length) {
            return { use, status: 0, text: String(error), ms: performance.now() - began };
          }
          at += 1;
          await sleep(20);
        }
      }
    },
    close: () => agent.destroy(),
  };
}

/** `workers` clients, each of which asks what `next` says, again and again, with a pause of `pauseMs`. */
export function startLoad(options: {
  origins: readonly string[];
  /** The authority to trust, for origins of https. */
  ca?: string;
  workers: number;
  pauseMs: number;
  next: () => Use;
  isExpected?: (outcome: Outcome) => boolean;
  onOutcome?: (outcome: Outcome) => void;
}): Load {
  const { isExpected = ({ status }) => status >= 200 && status < 300 } = options;
  const failures: string[] = [];
  let answered = 0;
  let running = true;
  const work = async (index: number) => {
    const client = createClient(options.origins, index, options.ca);
    while (running) {
      const outcome = await client.send(options.next());
      options.onOutcome?.(outcome);
      if (isExpected(outcome)) answered += 1;
      else failures.push(`${outcome.use.method} ${outcome.use.path}: ${outcome.status} ${outcome.text}`);
      await sleep(options.pauseMs);
    }
    client.close();
  };
  const workers = Array.from({ length: options.workers }, (_, index) => work(index));
  return {
    answered: () => answered,
    async stop() {
      running = false;
      await Promise.all(workers);
      return failures;
    },
  };
}
