// The two small pages of the unsubscribe link. They load nothing, run nothing, and hold nothing of the user's.
import { hash } from 'node:crypto';

const STYLE =
  'body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}' +
  'h1{font-size:1.5rem}button{font:inherit;padding:.5rem 1rem}';

/** Allows the style of these pages by its hash, and a form that is sent back to where the page came from. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For answers that are no page. */
export const BARE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Its button sends a POST to the address of the page itself, in the words of RFC 8058. */
export const ASK_PAGE = page(
  'Stop reminders by e-mail?',
  `<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Stop reminders by e-mail</button>
</form>`,
);

export const DONE_PAGE = page(
  'Reminders by e-mail are off',
  '<p>You will get no more of them. You can switch them on again where you set your reminders.</p>',
);

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}
