// Finds the replicas behind a name, and those that are added later: DNS is asked again every two seconds.
import { experimental } from '@grpc/grpc-js';

type Uri = experimental.GrpcUri;
type Listener = experimental.ResolverListener;
type ResolverOptions = Parameters<typeof experimental.createResolver>[2];

const POLL_MS = 2000;
const SCHEME = 'replicas';

/** grpc-js alone resolves a name again only after a connection has ended. */
class ReplicasResolver implements experimental.Resolver {
  readonly #dns: experimental.Resolver;
  #timer: NodeJS.Timeout | undefined;
  #known = '';

  constructor(target: Uri, listener: Listener, options: ResolverOptions) {
    this.#dns = experimental.createResolver(
      { ...target, scheme: 'dns' },
      (endpoints, ...others) => {
        // round_robin begins anew with each list that it is given: calls would wait where they have failed at once.
        const found = endpoints.ok
          ? endpoints.value.map(experimental.endpointToString).toSorted().join()
          : '';
        if (found !== '' && found === this.#known) return true;
        this.#known = found;
        return listener(endpoints, ...others);
      },
      options,
    );
  }

  updateResolution(): void {
    this.#timer ??= setInterval(() => this.#dns.updateResolution(), POLL_MS).unref();
    this.#dns.updateResolution();
  }

  /** Also when a channel without calls lets its connections go; it asks again, and needs an answer, at its next call. */
  destroy(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#known = '';
    this.#dns.destroy();
  }

  static getDefaultAuthority({ path }: Uri): string {
    return path;
  }
}

experimental.registerResolver(SCHEME, ReplicasResolver);

/** The target of a client: a host name, or one with the scheme dns, is polled; addresses and other schemes stay unchanged. */
export function polledTarget(target: string): string {
  if (target.startsWith('dns:')) return target.replace('dns', SCHEME);
  return /^(\d|\[|[a-z]+:\/|unix:|ipv4:|ipv6:)/.test(target) ? target : `${SCHEME}:///${target}`;
}
