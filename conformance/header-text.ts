/**
 * Whether a text can stand in a header. A key that cannot was pasted with more than itself, and
 * nothing could be sent.
 */
export function fitsHeader(text: string): boolean {
  return /^[ -~\u00a0-\u00ff]*$/.test(text);
}
