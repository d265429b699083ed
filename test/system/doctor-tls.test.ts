// What npm run doctor says of the files of mutual TLS while an authority is being changed: the file has the old and the new one.
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { tlsChecks } from '../../services/programs/doctor/check-tls.ts';
import { runChecks } from '../../services/programs/doctor/finding.ts';
import { makeCertificates } from '../support/certificates.ts';

const [own, other] = [makeCertificates({ days: 1 }), makeCertificates()];
afterAll(stopAll);
const [certificate, key, authority] = [
  own.environment.GRPC_TLS_CERT,
  own.environment.GRPC_TLS_KEY,
  own.environment.GRPC_TLS_CA,
].map((file) => readFileSync(file)) as [Buffer, Buffer, Buffer];
const otherAuthority = readFileSync(other.environment.GRPC_TLS_CA);

describe('a file with two authorities', () => {
  test.each([
    ['ours first', [authority, otherAuthority]],
    ['ours last', [otherAuthority, authority]],
  ])('is that of a certificate that one of them has signed, %s', async (_, authorities) => {
    expect(await states(authorities, 0)).toEqual([
      'tls certificate warning',
      'tls authority warning',
      'tls authority warning',
      'tls chain ok',
      'tls key ok',
    ]);
    expect(await states(authorities, 3)).toEqual([
      'tls certificate bad',
      'tls authority bad',
      'tls authority bad',
      'tls chain ok',
      'tls key ok',
    ]);
  });

  test('is not, where neither has', async () => {
    expect(await states([otherAuthority, otherAuthority], 0)).toContain('tls chain bad');
  });
});

test('a certificate that is not valid yet is told by its day: this machine’s clock may be wrong', async () => {
  const early = new Date(Date.now() - 2 * DAY_MS);
  const [found] = await runChecks(tlsChecks({ certificate, key, authority }, early), undefined);
  expect(found).toEqual({
    check: 'tls certificate',
    state: 'bad',
    found: expect.stringMatching(/^valid only from \d{4}-\d\d-\d\d$/),
    remedy: 'correct the clock of this machine, or wait',
  });
});

test('text between the certificates is passed over', async () => {
  expect(
    await states(
      [Buffer.from('The old one:\n'), otherAuthority, Buffer.from('The new one:\n'), authority],
      0,
    ),
  ).toContain('tls chain ok');
});

function stopAll(): void {
  own.remove();
  other.remove();
}

const DAY_MS = 86_400_000;

const states = async (authorities: Buffer[], afterDays: number) => {
  const tls = { certificate, key, authority: Buffer.concat(authorities) };
  const findings = await runChecks(tlsChecks(tls, new Date(Date.now() + afterDays * DAY_MS)), undefined);
  return findings.map(({ check, state }) => `${check} ${state}`);
};
