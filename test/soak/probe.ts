// Loaded into a service under soak (node --expose-gc --import): tells over IPC what it holds after a collection.
import { getHeapStatistics } from 'node:v8';

export type Held = { heapBytes: number; rssBytes: number; handles: number };

process.on('message', () => {
  // The second collection takes what finalisers of the first let go.
  globalThis.gc?.();
  globalThis.gc?.();
  const handles = process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'Timeout' && name !== 'Immediate').length;
  const held: Held = {
    heapBytes: getHeapStatistics().used_heap_size,
    rssBytes: process.memoryUsage.rss(),
    handles,
  };
  process.send?.(held);
});
// Asking must not keep a service alive that is told to end.
process.channel?.unref();
