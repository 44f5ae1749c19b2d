/**
 * Whom a call is counted as where it is not an account: its address. Rules: AUTH-6. Assumes:
 * clientIp.
 */

/** A forwarded address is text of the caller's: marked, it is never the id of an account. */
export const addressMark = 'ip ';
/** No address is longer, in any spelling; of what a proxy passes on, no more is kept. */
const longestAddress = 64;

/**
 * Addresses that have a bucket of their own on one endpoint; all others share one. Addresses are
 * free for who forges them and time may stand still, so those that are counted need not leave by
 * themselves.
 */
export const mostAddresses = 100_000;
export const otherAddresses = `${addressMark}any other`;

export function addressCaller(address: string): string {
  // Character by character: a slice would keep the whole header in memory, for as long as the
  // bucket is there.
  return addressMark + Array.from(address.slice(0, longestAddress)).join('');
}

export function isAddress(caller: string): boolean {
  return caller.startsWith(addressMark);
}
