/**
 * Decodes escaped characters of a key: `\u004b` in JSON and `%4B` in a URL both mean K. The decoded
 * request means the same, and shows any key that an escape hid.
 */

const inKeys = /[A-Za-z0-9_.~+/=-]/;
/** Does not match if the backslash itself is escaped. */
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
