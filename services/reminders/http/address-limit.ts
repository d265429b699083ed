// How many requests an address may make: 30 in any minute, counted in this process.
import { isIPv6 } from 'node:net';

const LIMIT = 30;
const WINDOW_MS = 60_000;
/** Beyond it the address that came first is forgotten. Each takes up to 30 numbers. */
const MAX_ADDRESSES = 50_000;

type AddressLimit = {
  /** Counts a request. @returns undefined if it may pass, else the whole seconds after which the next one will. */
  take(address: string): number | undefined;
};

/** `nowMs` is a monotonic clock. A refused request does not count. */
export function createAddressLimit(nowMs: () => number): AddressLimit {
  const timesOf = new Map<string, number[]>();
  let sweptMs = nowMs();
  const sweep = (now: number) => {
    sweptMs = now;
    for (const [key, times] of timesOf) if ((times.at(-1) ?? 0) <= now - WINDOW_MS) timesOf.delete(key);
  };
  return {
    take(address) {
      const now = nowMs();
      if (now - sweptMs >= WINDOW_MS) sweep(now);
      const key = subscriberOf(address);
      const times = (timesOf.get(key) ?? []).filter((time) => time > now - WINDOW_MS);
      timesOf.set(key, times);
      const [oldest] = times;
      if (oldest !== undefined && times.length >= LIMIT) return Math.ceil((oldest + WINDOW_MS - now) / 1000);
      times.push(now);
      if (timesOf.size > MAX_ADDRESSES) {
        const [first = key] = timesOf.keys();
        timesOf.delete(first);
      }
      return undefined;
    },
  };
}

/** An IPv4 address, or the first 64 bits of an IPv6 address: one subscriber has all addresses that share them. */
function subscriberOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().replace(/%.*/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  const all = [...groups, ...Array.from({ length: missing }, () => '0'), ...after];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
