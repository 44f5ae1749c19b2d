/** Reads JSON that may be invalid. */

/** The value of a JSON text; undefined if it is not JSON, or bytes that are not UTF-8. */
export function parseJson(body: string | Uint8Array): unknown {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return JSON.parse(typeof body === 'string' ? body : decoder.decode(body));
  } catch {
    return undefined;
  }
}
