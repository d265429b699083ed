// Reads what a service answers in parts: a stream, or a list page by page.
import type { ClientReadableStream, ServiceError as GrpcError } from '@grpc/grpc-js';
import { fromGrpcError } from './status.ts';

/**
 * The messages of a stream. `call` opens it only when the first message is read, since a stream that is never read would leak and its
 * error would be lost. Leaving the loop cancels the call. @throws ServiceError if the call fails.
 */
export async function* messagesOf<M>(call: () => ClientReadableStream<M>): AsyncGenerator<M> {
  const stream = call();
  // A cancelled call emits an error, which nobody needs.
  stream.on('error', () => {});
  try {
    yield* stream;
  } catch (error) {
    throw fromGrpcError(error as GrpcError);
  } finally {
    stream.cancel();
  }
}

/** The pages of a list, as long as the caller reads them. */
export async function* pagesOf<P extends { nextPageToken: string }>(
  read: (page: { pageSize: number; pageToken: string }) => Promise<P>,
): AsyncGenerator<P> {
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: P = await read({ pageSize: 100, pageToken });
    yield page;
    pageToken = page.nextPageToken || undefined;
  }
}
