/**
 * The largest numbers of accounts, keys, SIMs and names in a world. They bound world files and
 * operations alike. Messages have their own bound: see `src/sim/store/retention.ts`.
 */

export const mostAccounts = 10_000;
/** Account names ever used in a world. The name of a deleted account still counts. */
export const mostAccountNames = 100_000;
/** Keys of one account, revoked ones included. */
export const mostKeys = 1_000;
/** SIMs of one account. */
export const mostSims = 10_000;
/** SIMs of all accounts plus the numbers of the pool. */
export const mostDevices = 100_000;
export const mostPoolNumbers = 10_000;
export const mostOutcomes = 10_000;
