// Documents that were found valid, so that the few that tools and dashboards send are read once and not each time.
import { hash } from 'node:crypto';
import type { ApolloServerOptions } from '@apollo/server';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import { refuseDocument } from '../errors.ts';
import { type KnownDocument, knowDocument, parseWithin } from './document.ts';
import { LIMITS } from './limits.ts';

/** Measured: a token takes at most 510 bytes, a character of a text that is escaped all through 11. */
const BYTES_OF_TOKEN = 600;
const BYTES_OF_CHARACTER = 12;

export type KnownDocuments = {
  /** @throws INVALID_REQUEST for one that cannot be read. */
  read(query: string): KnownDocument;
  /** For Apollo, which puts in what it has validated, and then does not do it again. */
  store: NonNullable<ApolloServerOptions<never>['documentStore']>;
};

export function createKnownDocuments(): KnownDocuments {
  const known = new LRUCache<string, KnownDocument>({
    maxSize: LIMITS.documentBytes,
    sizeCalculation: ({ document }) => bytesOf(document),
  });
  return {
    read(query) {
      // In UTF-8, which is what is hashed, it would be another document.
      if (!query.isWellFormed()) throw refuseDocument('The document holds half of a surrogate pair.');
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

/** Apollo puts the schema's hash before that of the document. */
function hashOf(key: string): string {
  return key.slice(key.lastIndexOf(':') + 1);
}

function bytesOf({ tokenCount = LIMITS.tokens, loc }: DocumentNode): number {
  return BYTES_OF_TOKEN * tokenCount + BYTES_OF_CHARACTER * (loc?.source.body.length ?? LIMITS.bodyBytes);
}
