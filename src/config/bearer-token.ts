/**
 * The message for an unusable control token. RFC 6750 allows these characters in a bearer token.
 */
export const expectedToken = 'expected 1 to 200 characters of A-Z a-z 0-9 _ . ~ + / = -';

export function isControlToken(text: string): boolean {
  return /^[A-Za-z0-9_.~+/=-]{1,200}$/.test(text);
}
