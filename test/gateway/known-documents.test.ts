// Which documents are remembered, and what of them.
import { hash } from 'node:crypto';
import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createKnownDocuments } from '../../gateway/limits/known-documents.ts';

describe('a document', () => {
  test('is read and validated once, however often it comes', async () => {
    const documents = createKnownDocuments();
    const query = '{ caller { name } }';
    const first = documents.read(query);
    expect(first.isValid).toBe(false);
    expect(documents.read(query)).not.toBe(first);
    const key = `schema:${hash('sha256', query)}`;
    await documents.store.set(key, first.document);
    expect(documents.read(query).document).toBe(first.document);
    expect(documents.read(query).isValid).toBe(true);
    expect(await documents.store.get(key)).toBe(first.document);
    await documents.store.delete(key);
    expect(await documents.store.get(key)).toBeUndefined();
  });
});

describe('the memory of documents', () => {
  /** Remembers twenty documents, and says which of them are known afterwards. */
  async function knownOf(make: (index: number) => string): Promise<number[]> {
    const documents = createKnownDocuments();
    const queries = Array.from({ length: 20 }, (_, index) => make(index));
    for (const query of queries)
      await documents.store.set(`schema:${hash('sha256', query)}`, documents.read(query).document);
    return queries.flatMap((query, index) => (documents.read(query).isValid ? [index] : []));
  }

  test('forgets the oldest, by their tokens', async () => {
    // 600 bytes for each of 1,004 tokens: 27 would be within 16 MiB, and all twenty are.
    expect(await knownOf((index) => `{ a${index} ${'b '.repeat(1000)}}`)).toHaveLength(20);
    // Twice as many tokens: thirteen are.
    expect(await knownOf((index) => `{ a${index} ${'b '.repeat(1990)}}`)).toEqual(
      Array.from({ length: 13 }, (_, index) => index + 7),
    );
  });

  test('forgets the oldest, by the characters of their texts', async () => {
    // Twelve bytes for each of 95,000 characters: fourteen are within 16 MiB.
    expect(await knownOf((index) => `{ a(b: "${index}${'x'.repeat(95_000)}") }`)).toEqual(
      Array.from({ length: 14 }, (_, index) => index + 6),
    );
  });

  test('counts a document whose text is not known as the longest that there may be', async () => {
    const documents = createKnownDocuments();
    const queries = Array.from({ length: 20 }, (_, index) => `{ a${index} }`);
    for (const query of queries)
      await documents.store.set(`schema:${hash('sha256', query)}`, parse(query, { noLocation: true }));
    // Twelve bytes for each of 102,400 characters: thirteen are within 16 MiB.
    expect(queries.filter((query) => documents.read(query).isValid)).toEqual(queries.slice(7));
  });

  test('knows nothing of a document with half of a surrogate pair, which would hash as another', () => {
    expect(() => createKnownDocuments().read('{ a(b: "\ud800") }')).toThrow(
      'The document holds half of a surrogate pair.',
    );
  });
});
