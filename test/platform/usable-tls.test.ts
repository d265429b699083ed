// The files of mutual TLS at the start of a service: what is no certificate, key or authority is named.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { requireUsableTls } from '../../services/platform/process/common-config.ts';
import { connectServices } from '../../services/programs/services.ts';
import { readStartSettings } from '../../services/programs/start/settings.ts';
import { makeCertificates } from '../support/certificates.ts';
import { root } from '../support/processes.ts';

afterAll(stopAll);

test('certificates that belong together start, and so does a service without', () => {
  expect(() => requireUsableTls(undefined)).not.toThrow();
  expect(() => requireUsableTls(good)).not.toThrow();
  const both = Buffer.concat([good.authority, read(other.environment).authority]);
  expect(() => requireUsableTls({ ...good, authority: both })).not.toThrow();
});

const [own, other] = [makeCertificates(), makeCertificates()];

const read = ({ GRPC_TLS_CERT, GRPC_TLS_KEY, GRPC_TLS_CA }: typeof own.environment) => ({
  certificate: readFileSync(GRPC_TLS_CERT),
  key: readFileSync(GRPC_TLS_KEY),
  authority: readFileSync(GRPC_TLS_CA),
});

const none = readFileSync(join(root, 'LICENSE'));

const KEY = /GRPC_TLS_CERT and GRPC_TLS_KEY must be a PEM certificate and its unencrypted key/;

const CA = /GRPC_TLS_CA must be one or more PEM certificates/;

test.each([
  ['a certificate that is none', { certificate: none }, KEY],
  ['a key that is none', { key: none }, KEY],
  ['the key of another certificate', { key: read(other.environment).key }, KEY],
  ['an authority that is none', { authority: none }, CA],
  ['an empty authority', { authority: Buffer.alloc(0) }, CA],
])('%s is named', (_what, wrong, message) => {
  expect(() => requireUsableTls({ ...good, ...wrong })).toThrow(message);
});

test('npm start names them, too', () => {
  const environment = { ...own.environment, GRPC_TLS_CA: join(root, 'LICENSE') };
  expect(() => readStartSettings(own.environment)).not.toThrow();
  expect(() => readStartSettings(environment)).toThrow(CA);
});

test('a command names them, too', () => {
  const environment = { ...own.environment, GRPC_TLS_CERT: own.environment.GRPC_TLS_KEY };
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  expect(() => connectServices('users')).toThrow(KEY);
});

test('all that is wrong is named at once', () => {
  const all = () => requireUsableTls({ certificate: none, key: none, authority: none });
  expect(all).toThrow(KEY);
  expect(all).toThrow(CA);
});

function stopAll(): void {
  own.remove();
  other.remove();
}

const good = read(own.environment);
