/**
 * True if an HTTP header can carry the text. A key that cannot was probably pasted with a line
 * break.
 */
export function fitsHeader(text: string): boolean {
  return /^[ -~\u00a0-\u00ff]*$/.test(text);
}
