// A mail as text: its headers, then the same in plain text and in HTML. In one piece, since nodemailer's streams of parts take as
// much CPU as the rest of sending, and each chunk is a packet for the mail server.
import MimeNode from 'nodemailer/lib/mime-node';
import { encode, wrap } from 'nodemailer/lib/qp';

type Mail = {
  headers: Readonly<Record<string, string | { prepared: true; value: string }>>;
  text: string;
  html: string;
};

/** No encoded text holds it: there, two hexadecimal digits or the end of the line follow each "=". */
const BOUNDARY = '=_part';

/** Lines end in CR LF. */
export function composeMail({ headers, text, html }: Mail): string {
  const head = new MimeNode(`multipart/alternative; boundary="${BOUNDARY}"`);
  head.setHeader(headers);
  const lines = [
    ...[head.buildHeaders(), ''],
    ...[`--${BOUNDARY}`, ...partOf('text/plain', text)],
    ...[`--${BOUNDARY}`, ...partOf('text/html', html)],
    ...[`--${BOUNDARY}--`, ''],
  ];
  return lines.join('\r\n');
}

function partOf(type: string, text: string): string[] {
  const encoded = wrap(encode(text).replaceAll('\n', '\r\n'));
  return [`Content-Type: ${type}; charset=utf-8`, 'Content-Transfer-Encoding: quoted-printable', '', encoded];
}
