// The certificates of mutual TLS: validity period, key and CA.
import { X509Certificate } from 'node:crypto';
import { bad, type Check, type Finding, ok } from '../../platform/checks.ts';
import { checkDates } from '../../platform/process/certificate-dates.ts';
import { type GrpcTrust, tlsKeyProblem } from '../../platform/process/common-config.ts';
import { oneLine } from '../../platform/thrown.ts';

const SOON_DAYS = 30;

/** One for each certificate; chain and key only where all can be read. */
export function tlsChecks(tls: GrpcTrust['tls'], now: Date): Check[] {
  if (tls === undefined) return [{ name: 'tls', run: () => ok('not used between the services') }];
  const certificate = parse('GRPC_TLS_CERT', tls.certificate);
  const authorities = split(tls.authority).map((pem) => parse('GRPC_TLS_CA', pem));
  const ofEach = [certificate, ...authorities].map((parsed, index) => {
    if (!(parsed instanceof X509Certificate)) return { name: 'tls', run: () => parsed };
    return {
      name: `tls ${index === 0 ? 'certificate' : 'authority'}`,
      run: () => checkDates(parsed, now, SOON_DAYS),
    };
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
