/**
 * The id under which the limiter counts a client address, for requests without a valid key
 * (AUTH-6).
 */

/**
 * Begins the caller id of an address. Clients choose the text of a forwarded address, which could
 * equal an account's id without this mark.
 */
const addressMark = 'ip ';
/** The longest spelling of an address. Longer text from a proxy is cut to this length. */
const longestAddress = 64;

/** The caller of the bucket that new addresses share once there are too many. */
export const otherAddresses = `${addressMark}any other`;

/** The caller id for a request without an account: its client address (AUTH-6). */
export function addressCaller(address: string): string {
  // Copies character by character: a slice would keep the whole header in memory as long as the
  // bucket.
  return addressMark + Array.from(address.slice(0, longestAddress)).join('');
}

export function isAddress(caller: string): boolean {
  return caller.startsWith(addressMark);
}
