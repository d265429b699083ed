// What a search compares: texts and patterns in one form, apart from how they were sent, which is what is stored and answered.

/**
 * SQL: the text of `expression` composed (NFC), in lower case beyond ASCII, and with final sigma as sigma. So a decomposed é finds é, and
 * ΑΘΉΝΑΣ finds Αθήνας. The migrations have the same expression.
 */
export const searchText = (expression: string): string =>
  `replace(lower(normalize(${expression}, NFC)), 'ς', 'σ')`;
