// Certificates of the test's own authorities, made by openssl.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Certificates = ReturnType<typeof makeCertificates>;

/** An authority, and one certificate for `names` that it has signed, good for client and server. */
export function makeCertificates({ days = 2, names = 'IP:127.0.0.1,DNS:localhost' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'srs-tls-'));
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
  );
  openssl('req', ...newKey, '-keyout', 'service.key', '-out', 'service.csr', '-subj', '/CN=service');
  writeFileSync(path('extensions'), `subjectAltName=${names}\n`);
  const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'extensions'];
  openssl('x509', '-req', '-in', 'service.csr', ...signing, '-days', `${days}`, '-out', 'service.crt');
  return {
    environment: {
      GRPC_TLS_CERT: path('service.crt'),
      GRPC_TLS_KEY: path('service.key'),
      GRPC_TLS_CA: path('ca.crt'),
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
