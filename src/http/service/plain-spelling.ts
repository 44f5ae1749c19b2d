/**
 * Other spellings of the characters of a key: `\u004b` in JSON and `%4B` in an address are a K. Both
 * spell the same request, so one in which they hide a key can be taken in plain letters.
 */

const inKeys = /[A-Za-z0-9_.~+/=-]/;
/** Not where the backslash itself is escaped. */
const jsonEscape = /(?<!\\)((?:\\\\)*)\\u00([0-7][0-9a-f])/gi;
const percentEscape = /%([0-7][0-9a-f])/gi;

export function plainJson(text: string): string {
  if (!text.includes('\\u00')) return text;
  return text.replaceAll(jsonEscape, (whole, before: string, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return inKeys.test(character) ? `${before}${character}` : whole;
  });
}

export function plainAddress(text: string): string {
  if (!text.includes('%')) return text;
  return text.replaceAll(percentEscape, (whole, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return inKeys.test(character) && !'/+='.includes(character) ? character : whole;
  });
}
