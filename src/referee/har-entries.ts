/**
 * Finds the entries of a HAR file, so that each can be parsed alone: a large file that is parsed whole
 * costs more in the garbage collector than in the parser.
 */

export const entriesKey = /"entries"\s*:\s*\[/g;
const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The text of each entry; undefined if the file has another shape, or may be no JSON. */
export function entryTexts(text: string): readonly string[] | undefined {
  entriesKey.lastIndex = 0;
  if (!entriesKey.test(text)) return undefined;
  const start = entriesKey.lastIndex;
  const entries: string[] = [];
  let at = afterSpace(text, start);
  while (text.charCodeAt(at) === openObject) {
    const end = endOfObject(text, at);
    if (end < 0) return undefined;
    entries.push(text.slice(at, end));
    at = afterSpace(text, end);
    if (text.charCodeAt(at) !== comma) break;
    at = afterSpace(text, at + 1);
    if (text.charCodeAt(at) !== openObject) return undefined;
  }
  const isWhole =
    text.charCodeAt(at) === closeArray && isRest(text.slice(0, start) + text.slice(at));
  return isWhole ? entries : undefined;
}

/** True for a HAR file whose entries were taken out. */
function isRest(text: string): boolean {
  try {
    const { log } = JSON.parse(text);
    return Array.isArray(log.entries) && log.entries.length === 0;
  } catch {
    return false;
  }
}

export function afterSpace(text: string, from: number): number {
  let at = from;
  while (' \n\r\t'.includes(text[at] ?? '-')) at++;
  return at;
}

/** The place after the object that begins at `start`; -1 if it has no end. */
export function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      if (at < 0) return -1;
    } else if (code === openObject || code === openArray) depth++;
    else if ((code === closeObject || code === closeArray) && --depth === 0) return at + 1;
  }
  return -1;
}

/** The place of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  return -1;
}
