/**
 * The caller id for a request without an account: its client address. Rules: AUTH-6. Assumes:
 * clientIp.
 */

/**
 * Marks an address. The caller chooses the text of a forwarded address; without the mark it could
 * equal an account's id.
 */
export const addressMark = 'ip ';
/** The longest spelling of an address. Longer text from a proxy is cut to this length. */
const longestAddress = 64;

/**
 * Addresses that have their own bucket on one endpoint; all others share one. Needed because a
 * client can forge any number of addresses, and while simulated time stands still no bucket
 * expires.
 */
export const mostAddresses = 100_000;
export const otherAddresses = `${addressMark}any other`;

export function addressCaller(address: string): string {
  // Copies character by character: a slice would keep the whole header in memory as long as the
  // bucket.
  return addressMark + Array.from(address.slice(0, longestAddress)).join('');
}

export function isAddress(caller: string): boolean {
  return caller.startsWith(addressMark);
}
