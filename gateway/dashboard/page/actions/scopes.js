// The scopes of API keys. This file needs no browser, so that a test can compare them with accounts.

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
