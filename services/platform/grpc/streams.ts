// Reads what a service answers in parts: a stream, or a list page by page.
import type { ClientReadableStream, ServiceError as GrpcError } from '@grpc/grpc-js';
import { fromGrpcError } from './status.ts';

/**
 * The messages of a stream, which `call` opens once the first is read: nobody ends one that is never read, or hears its error.
 * Whoever reads no further ends the call. @throws the error of a service that does not answer.
 */
export async function* messagesOf<M>(call: () => ClientReadableStream<M>): AsyncGenerator<M> {
  const stream = call();
  // A call that is ended fails.
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
