/**
 * Checks that a text may be sent in a header. A key with other characters was probably pasted with
 * surrounding text.
 */
export function fitsHeader(text: string): boolean {
  return /^[ -~\u00a0-\u00ff]*$/.test(text);
}
