// What "npm run keys -- --help" says.

export const HELP = `Makes, lists, rotates and revokes API keys.

  npm run keys -- create --email E [--scopes a,b] [--name N] [--plan free|premium]
                         [--time-zone Z] [--first-name F] [--last-name L] [--json]
      Makes a key, and the user if new; for an existing user the flags given change it.
      The key is printed once. Without --scopes: materials:read, reviews:read, profile:read.
      A user can have 5 keys made in an hour.
  npm run keys -- list --email E [--json]
      Lists a user's keys, revoked ones too, never the keys themselves.
  npm run keys -- rotate ID [--scopes a,b] [--json]
      Makes a replacement with the same scopes or fewer. The old key stays valid until revoked.
  npm run keys -- revoke ID [--json]
      Revokes a key for good, at once.

Scopes: materials:read, materials:write, reviews:read, reviews:write, snooze:write, profile:read

Examples
  npm run keys -- create --email ada@example.com --scopes materials:read,materials:write --time-zone Europe/Berlin
  npm run --silent keys -- list --email ada@example.com --json

It talks to ACCOUNTS_URL (default 127.0.0.1:50052), which "npm start" serves.
A failure exits with 1 and prints "CODE: message", CODE being one of the API's error codes.
`;
