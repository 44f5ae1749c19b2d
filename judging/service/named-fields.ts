/**
 * Which fields the body of a 400 identifies (SEND-5). The document does not show the shape of
 * errors, so a name counts in each of the usual places: a code, a key of a field map, an entry of a
 * list, the end of a path or pointer, and the beginning of a sentence or its quotes.
 */

/** A name, a path or a pointer: a text without white space. */
const pathForm = /^[#$/.\w[\]'"-]+$/;
/** Keys under which a body repeats the request. What they contain identifies no field. */
const echoes: readonly string[] = ['request', 'input', 'value', 'rejectedvalue'];
/** Fields whose names are also usual keys for the text and the id of the error itself. */
const ambiguous: readonly string[] = ['message', 'requestid'];
/** Keys of objects whose own keys are names of fields. */
const fieldMaps = /^(errors|details|fields|fielderrors|properties)$/;

interface Search {
  readonly field: string;
  /** True if sentences count, too. */
  readonly readsProse: boolean;
}

/** True if the body names the field. */
export function namesField(body: unknown, field: string, { readsProse = true } = {}): boolean {
  return isNamedIn(body, { field: plain(field), readsProse });
}

/** `isMap`: this part is an object whose keys are fields. */
function isNamedIn(part: unknown, search: Search, { isMap = false } = {}): boolean {
  const { field, readsProse } = search;
  if (typeof part === 'string') {
    if (pathForm.test(part)) return lastName(part) === field;
    return readsProse && sentenceNames(part, field);
  }
  if (Array.isArray(part)) return part.some((one) => isNamedIn(one, search));
  if (typeof part !== 'object' || part === null) return false;
  return Object.entries(part).some(([key, value]) => {
    const name = lastName(key);
    if (echoes.includes(name)) return false;
    // `{"message": ["…"]}` may name the field `message`, or list sentences about the error. It
    // counts as a name only where sentences count.
    const mayBeText = typeof value === 'string' || !readsProse;
    const mayDescribeError = mayBeText && ambiguous.includes(name) && !isMap;
    if (name === field && !mayDescribeError) return true;
    // `requestId` of an error is the error's own id, whatever it contains.
    if (mayDescribeError && name === 'requestid') return false;
    return isNamedIn(value, search, { isMap: fieldMaps.test(name) });
  });
}

/** The last part of a path such as `/data/to` or `send.body.to`. */
function lastName(path: string): string {
  return plain(path.split(/[^\w-]+/).findLast((part) => part !== '') ?? '');
}

/** `send_at`, `sendAt` and `Send-At` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** True for a sentence such as `to must be a number`, `body/to: invalid` or `Invalid 'To' number`. */
function sentenceNames(sentence: string, field: string): boolean {
  const [first = ''] = sentence.split(/[\s:,]/, 1);
  const quoted = [...sentence.matchAll(/["'`]([\w./-]+)["'`]/g)].map(([, name = '']) => name);
  return [first, ...quoted].some((name) => lastName(name) === field);
}
