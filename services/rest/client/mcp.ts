#!/usr/bin/env node
// The API as tools for an AI agent: a server of the Model Context Protocol over standard input and output.
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import {
  ApiError,
  type Client,
  ConnectionError,
  createClient,
  InsufficientScopeError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  UnauthorizedError,
} from './client.ts';
import { CreateMaterialRequestValues, SnoozeRequestValues } from './types.ts';

const HELP = `Offers the spaced-repetition API to an AI agent as tools: due, search, create, review and snooze.
Speaks the Model Context Protocol over standard input and output, so that an agent's program starts it.

  npm run mcp               in the project; an agent's program needs npm run --silent mcp
  spaced-repetition-client  where the package of the client is installed

  API_URL  the API, ending with /v1; default http://127.0.0.1:8080/v1
  API_KEY  the key, with the scopes of the tools that the agent is to use

Ends when its standard input ends. Exits with 1 if it cannot start.
`;

/** An agent's program gives up on a call after 60 s by default; waiting for a limit and retrying end before that. */
const PATIENCE = { maxRetries: 3, timeoutMs: 8_000, maxWaitMs: 40_000 };

const INSTRUCTIONS = `Tools of a spaced-repetition service. To study: call due, ask the person about one material at a time without
showing its content, let them answer, then call review with how well they recalled it. Grades: 5 immediate and confident, 4 correct
after some thought, 3 correct with effort or minor gaps, 2 difficult recall with major gaps, 1 incorrect but familiar, 0 total
blackout.`;

const materialId = z.string().describe('The id of a material, as due, search and create answer it.');
const limit = z.int().min(1).max(100).optional().describe('How many at most; default 20.');
const idempotencyKey = z
  .string()
  .optional()
  .describe('Only to repeat a call as its error message says: the key that it names.');

await main();

/**
 * The server with its tools, which call `client`. A failed call returns a text that says what to do. An empty optional
 * text counts as absent, since some agents give every parameter a value.
 */
function createMcpServer(client: Client): McpServer {
  const server = new McpServer(
    { name: 'spaced-repetition', version: '1.0.0' },
    { instructions: INSTRUCTIONS },
  );
  server.registerTool(
    'due',
    {
      description: 'Lists the materials that are due for review, the longest due first.',
      inputSchema: { limit },
      annotations: { readOnlyHint: true },
    },
    ({ limit }, { signal }) => read(client.listDueMaterials({ ...(limit && { limit }) }, { signal })),
  );
  server.registerTool(
    'search',
    {
      description:
        'Finds materials whose title, content or source URL holds a text; those with it in the title first.',
      inputSchema: { q: z.string().describe('The text, as a whole; case does not matter.'), limit },
      annotations: { readOnlyHint: true },
    },
    ({ q, limit }, { signal }) => read(client.searchMaterials({ q, ...(limit && { limit }) }, { signal })),
  );
  server.registerTool(
    'create',
    {
      description: 'Creates a material, which is due at once.',
      inputSchema: {
        title: z.string().describe('What is asked, or what it is about: 1 to 240 characters.'),
        content: z.string().optional().describe('The answer or the text.'),
        sourceUrl: z.string().optional().describe('Where it comes from: a URI with a scheme.'),
        type: z.enum(CreateMaterialRequestValues.type).optional().describe('Default: simple.'),
        idempotencyKey,
      },
      annotations: { destructiveHint: false },
    },
    ({ title, content, sourceUrl, type, idempotencyKey }, { signal }) => {
      const texts = { title, ...(content && { content }), ...(sourceUrl && { sourceUrl }) };
      const material = { ...texts, ...(type && { type }) };
      return write(idempotencyKey, (key) => client.createMaterial(material, { signal, idempotencyKey: key }));
    },
  );
  server.registerTool(
    'review',
    {
      description: 'Grades how well the person recalled a material, which sets when it is due next.',
      inputSchema: {
        materialId,
        quality: z
          .int()
          .min(0)
          .max(5)
          .describe('0 total blackout, 3 correct with effort, 5 immediate and confident.'),
        idempotencyKey,
      },
      annotations: { destructiveHint: false },
    },
    ({ materialId, quality, idempotencyKey }, { signal }) =>
      write(idempotencyKey, (key) =>
        client.submitReview(materialId, { quality }, { signal, idempotencyKey: key }),
      ),
  );
  server.registerTool(
    'snooze',
    {
      description: 'Puts a material off: give either preset or snoozeUntil.',
      inputSchema: {
        materialId,
        preset: z
          .enum(SnoozeRequestValues.preset)
          .optional()
          .describe("On the clock of the person's account."),
        snoozeUntil: z.string().optional().describe('A later instant, such as 2027-01-31T09:00:00+01:00.'),
        reason: z.string().optional().describe('Up to 500 characters.'),
        idempotencyKey,
      },
      annotations: { destructiveHint: false },
    },
    ({ materialId, preset, snoozeUntil, reason, idempotencyKey }, { signal }) => {
      const text = reason === undefined ? {} : { reason };
      if (!snoozeUntil && preset === undefined) return failed('Give either preset or snoozeUntil.');
      const snooze = snoozeUntil ? { snoozeUntil, ...text } : { preset: preset ?? '1h', ...text };
      return write(idempotencyKey, (key) =>
        client.snoozeMaterial(materialId, snooze, { signal, idempotencyKey: key }),
      );
    },
  );
  return server;
}

function succeeded(result: object) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(result) }],
    structuredContent: { ...result },
  };
}

function failed(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}

async function read(call: Promise<object>) {
  try {
    return succeeded(await call);
  } catch (error) {
    return failed(adviceOn(error) ?? `${messageOf(error)} Call again in a minute.`);
  }
}

/** All attempts of `call` have one key, an agent's own among them. */
async function write(given: string | undefined, call: (idempotencyKey: string) => Promise<object>) {
  const idempotencyKey = given || randomUUID();
  try {
    return succeeded(await call(idempotencyKey));
  } catch (error) {
    const repeat = `make the same call with idempotencyKey "${idempotencyKey}": then it is done once.`;
    // An attempt before the one that was refused may have been done, and its answer lost.
    if (error instanceof RateLimitedError) return failed(`${adviceOn(error)} Then ${repeat}`);
    const inDoubt = `It may have been done or not. To find out, ${repeat}`;
    return failed(adviceOn(error) ?? `${messageOf(error)} ${inDoubt}`);
  }
}

/** What an agent can do about an error; undefined if the outcome of the call is unknown. */
function adviceOn(error: unknown): string | undefined {
  if (error instanceof InvalidRequestError) {
    const field = error.field === undefined ? '' : ` The field at fault is ${error.field}.`;
    return `${error.message}${field} Correct it and call again.`;
  }
  if (error instanceof UnauthorizedError)
    return 'The API key is not valid: it is unknown, revoked, expired or not allowed from this address. Ask the person to set API_KEY to a valid one and to start this server again.';
  if (error instanceof InsufficientScopeError)
    return `The API key lacks a scope: this tool needs ${error.requiredScopes.join(' or ')}. Ask the person for a key that has it.`;
  if (error instanceof NotFoundError)
    return `${messageOf(error)} Take the id of a material from due or search. If these fail in the same way, ${CHECK_URL}`;
  if (error instanceof RateLimitedError)
    return `The key has used up its writes of a minute. Wait ${error.retryAfterSeconds ?? 60} seconds.`;
  if (error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500))
    return undefined;
  // The response is not the API's.
  if (error instanceof ApiError) return `${messageOf(error)} To go on, ${CHECK_URL}`;
  return messageOf(error);
}

const CHECK_URL = 'ask the person to check API_URL, which has to end with /v1.';

/** With the names of the variables in place of the client's options. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const message = text.replace(/\bbaseUrl\b/, 'API_URL').replace(/^apiKey\b/, 'API_KEY');
  return message.endsWith('.') ? message : `${message}.`;
}

async function main(): Promise<void> {
  try {
    const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
    if (values.help) return void process.stdout.write(HELP);
    const { API_URL: baseUrl = 'http://127.0.0.1:8080/v1', API_KEY: apiKey = '' } = process.env;
    if (apiKey === '') throw new Error('API_KEY is not set. It takes a key of the API; --help says more.');
    const server = createMcpServer(createClient({ baseUrl, apiKey, ...PATIENCE }));
    await server.connect(new StdioServerTransport());
  } catch (error) {
    const isUsage = error instanceof TypeError && 'code' in error;
    // Node's own text continues with advice for programmers.
    const [said = ''] = messageOf(error).split('. To specify');
    const hint = isUsage ? ' See "npm run mcp -- --help".' : '';
    process.stderr.write(`${said.replace(/\.$/, '')}.${hint}\n`);
    process.exitCode = 1;
  }
}
