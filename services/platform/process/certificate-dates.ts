// How long a certificate is valid: asked by npm run doctor, and by GET /ready of a process, which knows the one that it uses.
import { X509Certificate } from 'node:crypto';
import { bad, type Check, type Finding, ok, warning } from '../checks.ts';

const DAY_MS = 86_400_000;
/** GET /ready warns this many days before expiry: late enough for an automatic renewal, early enough for a manual one. */
const SOON_DAYS = 14;

/** A warning in the last `soonDays` days. */
export function checkDates(certificate: X509Certificate, now: Date, soonDays: number): Finding {
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const remedy = 'issue a new certificate, put it into the file, and restart the services in turn';
  if (to < now) return bad(`expired on ${day(to)}: calls between the services fail`, remedy);
  if (from > now) return bad(`valid only from ${day(from)}`, 'correct the clock of this machine, or wait');
  const days = Math.floor((to.getTime() - now.getTime()) / DAY_MS);
  const found = `valid for ${days} more days, until ${day(to)}`;
  return days < soonDays ? warning(found, remedy) : ok(found);
}

/** Readiness check of the PEM certificate that this process uses. Never bad: the checks of its peers show whether calls fail. */
export function certificateCheck(pem: Buffer): Check {
  const certificate = new X509Certificate(pem);
  return {
    name: 'process/certificate',
    run() {
      const finding = checkDates(certificate, new Date(), SOON_DAYS);
      return finding.state === 'ok' ? finding : warning(finding.found, finding.remedy);
    },
  };
}
