// Checks GATEWAY_TOKENS: each a token of its own, under a name of its own, so that the audit tells people apart.
import type { GatewayToken } from '../../gateway/access/tokens.ts';
import { checkNamed, type Finding } from './finding.ts';

/** `tokens` undefined: none are set. `isStart`: npm start is looked at, which makes one by itself. */
export function checkTokens(tokens: readonly GatewayToken[] | undefined, isStart: boolean): Finding {
  const { ok, warning, bad } = checkNamed('gateway tokens');
  if (tokens === undefined && isStart) return ok('npm start will make one');
  if (tokens === undefined) {
    return warning(
      'GATEWAY_TOKENS is not set: the gateway will not start',
      'NAME:ROLE:TOKEN, the token from "openssl rand -hex 32"; without a gateway there is nothing to do',
    );
  }
  const repeated = <T>(values: readonly T[]) =>
    values.find((value, index) => values.indexOf(value) !== index);
  if (repeated(tokens.map(({ sha256 }) => sha256.toString('hex'))) !== undefined) {
    return bad('two entries have the same token: only the first counts', 'give each its own');
  }
  const name = repeated(tokens.map((token) => token.name));
  if (name !== undefined)
    return warning(`two entries are named ${name}`, 'the audit cannot tell them apart: rename one');
  const count = (role: string) => tokens.filter((token) => token.role === role).length;
  return ok(`${count('operator')} operators, ${count('viewer')} viewers`);
}
