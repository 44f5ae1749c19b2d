/**
 * The reason phrases of HTTP, by status. Not imported: from Node 22 on, an import of node:http also
 * loads Node's `fetch`, which takes a sixth of the start.
 */
export const { STATUS_CODES: statusTexts } = process.getBuiltinModule('node:http');
