// The form in which a search compares texts and patterns. What is stored and returned stays as it was sent.

/**
 * SQL: the text of `expression` composed (NFC), in lower case beyond ASCII, and with one form for each Greek letter that has several in
 * lower case; the micro sign is mu, and the long s is s, as in Unicode's case folding. So a decomposed é finds é, and ΑΘΉΝΑΣ finds
 * Αθήνας. The migrations have the same expression.
 */
export const searchText = (expression: string): string =>
  `translate(lower(normalize(${expression}, NFC)), 'ςµſẛϐϑϕϖϰϱϵ', 'σμsṡβθφπκρε')`;
