// The scopes of API keys, apart from the page's parts that need a browser: a test holds them to accounts.

export const SCOPES = [
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
];
/** What a new key gets unless the operator chooses otherwise. */
export const USUAL_SCOPES = ['materials:read', 'reviews:read', 'profile:read'];
