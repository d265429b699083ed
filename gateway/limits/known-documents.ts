// A cache of valid documents, so that recurring ones are parsed and validated once.
import { hash } from 'node:crypto';
import type { ApolloServerOptions } from '@apollo/server';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import { invalidRequest } from '../../services/platform/errors.ts';
import { type KnownDocument, knowDocument, parseWithin } from './document.ts';
import { LIMITS } from './limits.ts';

/** Measured: at most 510 bytes per token, and 11 per escaped character. */
const BYTES_OF_TOKEN = 600;
const BYTES_OF_CHARACTER = 12;

export type KnownDocuments = {
  /** @throws INVALID_REQUEST for a syntax error. */
  read(query: string): KnownDocument;
  /** Apollo's document store: it adds validated documents and skips them afterwards. */
  store: NonNullable<ApolloServerOptions<never>['documentStore']>;
};

export function createKnownDocuments(): KnownDocuments {
  const known = new LRUCache<string, KnownDocument>({
    maxSize: LIMITS.documentBytes,
    sizeCalculation: ({ document }) => bytesOf(document),
  });
  return {
    read(query) {
      // A lone surrogate hashes as another document, since the hash is over UTF-8.
      if (!query.isWellFormed())
        throw invalidRequest('query', 'The document holds half of a surrogate pair.');
      const found = known.get(hash('sha256', query));
      if (found !== undefined) return found;
      return knowDocument(parseWithin(query), false);
    },
    store: {
      get: async (key) => known.get(hashOf(key))?.document,
      set: async (key, document) => void known.set(hashOf(key), knowDocument(document, true)),
      delete: async (key) => known.delete(hashOf(key)),
    },
  };
}

/** Apollo prefixes the document's hash with the schema's. */
function hashOf(key: string): string {
  return key.slice(key.lastIndexOf(':') + 1);
}

function bytesOf({ tokenCount = LIMITS.tokens, loc }: DocumentNode): number {
  return BYTES_OF_TOKEN * tokenCount + BYTES_OF_CHARACTER * (loc?.source.body.length ?? LIMITS.bodyBytes);
}
