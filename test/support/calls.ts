// Clients of tests, whose calls are of request "test" unless they say another.
import type { CallOptions } from '../../services/platform/grpc/client.ts';

export const CALL = { requestId: 'test' };

type Eased<C> = {
  [M in keyof C]: M extends 'close'
    ? C[M]
    : C[M] extends (request: infer Q, options: CallOptions) => infer R
      ? (request: Q, options?: Partial<CallOptions>) => R
      : C[M];
};

/** The same client; the options of a call may be left out. */
export function eased<C extends object>(client: C): Eased<C> {
  const ease = (target: C, name: string | symbol): unknown => {
    const member: unknown = Reflect.get(target, name);
    if (typeof member !== 'function' || name === 'close') return member;
    return (request: unknown, options: Partial<CallOptions> = {}) =>
      member.call(target, request, { ...CALL, ...options });
  };
  return new Proxy(client, { get: ease }) as Eased<C>;
}
