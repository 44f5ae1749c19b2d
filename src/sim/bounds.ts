/**
 * How much of each a world may hold: what a file may state, and what levers may add to it.
 * Messages are not among these: they stay until a reset, whatever their number.
 */

export const mostAccounts = 10_000;
/** Names that accounts have ever had; one is remembered when its account is deleted. */
export const mostAccountNames = 100_000;
/** Of one account, those that were revoked included. */
export const mostKeys = 1_000;
/** Of one account. */
export const mostSims = 10_000;
/** Of all accounts together, and of the pool. */
export const mostDevices = 100_000;
export const mostPoolNumbers = 10_000;
export const mostOutcomes = 10_000;
