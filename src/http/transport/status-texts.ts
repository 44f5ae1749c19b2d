/**
 * Reason phrases by status. An import of node:http would load Node's fetch as well, from Node 22
 * on, which takes a sixth of the start.
 */
export const { STATUS_CODES: statusTexts } = process.getBuiltinModule('node:http');
