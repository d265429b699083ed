// Gateway tokens: stored only as hashes, each with a name for the audit log and a role.
import { hash, timingSafeEqual } from 'node:crypto';
import type { EnvironmentReader } from '../../services/platform/process/config.ts';
import { VARIABLES } from '../../services/platform/process/variables.ts';

/** A viewer reads; an operator also writes. */
export type Role = 'viewer' | 'operator';
export type Identity = { name: string; role: Role };
/** An entry of GATEWAY_TOKENS. */
export type GatewayToken = Identity & { sha256: Buffer };

const ENTRY = /^([A-Za-z0-9._-]{1,64}):(viewer|operator):([ -~]{32,})$/;

/** Parses GATEWAY_TOKENS; problems do not repeat the entry. */
export function readGatewayTokens(reader: EnvironmentReader, { required = true } = {}): GatewayToken[] {
  const text = required ? reader.required('GATEWAY_TOKENS') : reader.text('GATEWAY_TOKENS');
  if (!text) return [];
  const tokens = text.split(',').map(parseToken);
  if (tokens.includes(undefined)) reader.problem(`GATEWAY_TOKENS must be ${VARIABLES.GATEWAY_TOKENS.form}`);
  return tokens.filter((token) => token !== undefined);
}

export function parseToken(entry: string): GatewayToken | undefined {
  const [, name, role, token] = ENTRY.exec(entry.trim()) ?? [];
  if (name === undefined || token === undefined) return undefined;
  return { name, role: role === 'operator' ? 'operator' : 'viewer', sha256: digest(token) };
}

/** The token in an Authorization header; empty without one. */
export function bearerOf(authorization: string | undefined): string {
  return /^bearer +(.*)$/i.exec(authorization?.trim() ?? '')?.[1] ?? '';
}

/** The identity behind a gateway token, compared in constant time. */
export function identify(tokens: readonly GatewayToken[], sent: string): Identity | undefined {
  const sha256 = digest(sent);
  const [found] = tokens.filter((token) => timingSafeEqual(token.sha256, sha256));
  return found && { name: found.name, role: found.role };
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
