/** The tokens that RFC 6750 allows in `Authorization: Bearer`: control tokens and API keys. */
export const bearerToken = /^[A-Za-z0-9_.~+/=-]{1,200}$/;

/** The message for an unusable control token. */
export const expectedToken = 'expected 1 to 200 characters of A-Z a-z 0-9 _ . ~ + / = -';
