// Which addresses a push message may go to: those of the public Internet.
import { lookup, Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IANA's special-purpose addresses: this host, private, shared (CGNAT), loopback, link-local, tests, multicast, reserved. */
const NOT_PUBLIC_IPV4: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
/** All of IPv6 but global unicast, and of that: protocols, Teredo, documentation and 6to4. Mapped IPv4 lies outside 2000::/3. */
const GLOBAL_UNICAST: readonly [string, number] = ['2000::', 3];
const NOT_PUBLIC_IPV6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

// A list for each family: a rule for mapped IPv4 would match every IPv4 address.
const special4 = new BlockList();
for (const [network, bits] of NOT_PUBLIC_IPV4) special4.addSubnet(network, bits, 'ipv4');
const global6 = new BlockList();
global6.addSubnet(...GLOBAL_UNICAST, 'ipv6');
const special6 = new BlockList();
for (const [network, bits] of NOT_PUBLIC_IPV6) special6.addSubnet(network, bits, 'ipv6');

/** Whether this is an IP address of the public Internet; false for anything else. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special4.check(address, 'ipv4');
  if (family === 6 && !address.includes('%'))
    return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
  return false;
}

type Address = { address: string; family: number };
export type PushNetwork = {
  /** Whether plain http is allowed. */
  allowHttp: boolean;
  isAllowed(address: string): boolean;
  /** The addresses of a name. */
  resolve(name: string): Promise<Address[]>;
};

/** For each attempt at a name server. */
const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;

/** `allowPrivate` is for tests on one machine. `nameServers`: address and port of each; default: the system's. */
export function createPushNetwork(options: {
  allowPrivate: boolean;
  nameServers?: readonly string[];
}): PushNetwork {
  const { allowPrivate, nameServers } = options;
  return {
    allowHttp: allowPrivate,
    isAllowed: allowPrivate ? () => true : isPublicAddress,
    // Names of the machine itself are known only to its own lookup.
    resolve: allowPrivate ? (name) => lookup(name, { all: true }) : createResolve(nameServers),
  };
}

/** Asks name servers over sockets. `lookup` uses four threads, which a few hanging names would take from everyone. */
function createResolve(nameServers: readonly string[] | undefined): PushNetwork['resolve'] {
  const ofFamily = (family: number) => (addresses: string[]) =>
    addresses.map((address) => ({ address, family }));
  return async (name) => {
    // A new one for each name: it reads once what the machine's name servers are, which change with its network.
    const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
    if (nameServers !== undefined) resolver.setServers(nameServers);
    const answers = await Promise.allSettled([
      resolver.resolve4(name).then(ofFamily(4)),
      resolver.resolve6(name).then(ofFamily(6)),
    ]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const [first] = answers;
    if (found.length === 0 && first.status === 'rejected') throw first.reason;
    return found;
  };
}

/** A name has only addresses that a push message may not go to. */
export class ForbiddenAddress extends Error {}

/** For `lookup` of a request, which connects to exactly the addresses that were checked here. */
export function checkedLookup({ resolve, isAllowed }: PushNetwork): LookupFunction {
  return (name, options, callback) => {
    resolve(name).then(
      (found) => {
        const allowed = found.filter(({ address }) => isAllowed(address));
        const [first] = allowed;
        if (first === undefined) callback(new ForbiddenAddress('no public address'), '');
        else if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}
