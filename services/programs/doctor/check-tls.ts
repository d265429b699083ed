// The certificates of mutual TLS: validity period, key and CA.
import { X509Certificate } from 'node:crypto';
import { bad, type Check, type Finding, ok, warning } from '../../platform/checks.ts';
import { type GrpcTrust, tlsKeyProblem } from '../../platform/process/common-config.ts';
import { oneLine } from '../../platform/thrown.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

/** One for each certificate; chain and key only where all can be read. */
export function tlsChecks(tls: GrpcTrust['tls'], now: Date): Check[] {
  if (tls === undefined) return [{ name: 'tls', run: () => ok('not used between the services') }];
  const certificate = parse('GRPC_TLS_CERT', tls.certificate);
  const authorities = split(tls.authority).map((pem) => parse('GRPC_TLS_CA', pem));
  const ofEach = [certificate, ...authorities].map((parsed, index) => {
    if (!(parsed instanceof X509Certificate)) return { name: 'tls', run: () => parsed };
    return { name: `tls ${index === 0 ? 'certificate' : 'authority'}`, run: () => checkDates(parsed, now) };
  });
  const issuers = authorities.filter((parsed) => parsed instanceof X509Certificate);
  if (!(certificate instanceof X509Certificate) || issuers.length < authorities.length) return ofEach;
  return [
    ...ofEach,
    { name: 'tls chain', run: () => checkChain(certificate, issuers) },
    { name: 'tls key', run: () => checkKey(tls) },
  ];
}

/** Each certificate of a file, which has several while an authority is being changed; the file if it has none. */
function split(file: Buffer): (string | Buffer)[] {
  return file.toString().match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [file];
}

function parse(variable: string, pem: string | Buffer): X509Certificate | Finding {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    return bad(`${variable} contains no certificate: ${oneLine(error)}`, `put a PEM file into ${variable}`);
  }
}

function checkDates(certificate: X509Certificate, now: Date): Finding {
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const remedy = 'issue a new certificate, put it into the file, and restart the services in turn';
  if (to < now) return bad(`expired on ${day(to)}: calls between the services fail`, remedy);
  if (from > now) return bad(`valid only from ${day(from)}`, 'correct the clock of this machine, or wait');
  const days = Math.floor((to.getTime() - now.getTime()) / DAY_MS);
  const found = `valid for ${days} more days, until ${day(to)}`;
  return days < SOON_DAYS ? warning(found, remedy) : ok(found);
}

function checkChain(certificate: X509Certificate, authorities: readonly X509Certificate[]): Finding {
  const hasIssued = (authority: X509Certificate) =>
    certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  if (authorities.some(hasIssued)) return ok('issued by GRPC_TLS_CA');
  return bad('GRPC_TLS_CERT was not issued by GRPC_TLS_CA', 'use the CA that signed it, in all services');
}

function checkKey(tls: NonNullable<GrpcTrust['tls']>): Finding {
  const problem = tlsKeyProblem(tls);
  if (problem === undefined) return ok('belongs to the certificate');
  return bad(problem, 'use the key that the certificate was requested with, not encrypted');
}
