/**
 * The checksum at the end of each line of a journal: the CRC-32 of the bytes before it, as the last
 * member of the line's JSON object. It stands for one line alone, so lines can be left out.
 */
import { crc32 } from 'node:zlib';

export const checksumMember = ',"crc32":';

/** A line with its checksum and its line break. */
export function lineOf(value: object): string {
  const text = JSON.stringify(value).slice(0, -1);
  return `${text}${checksumMember}${crc32(text)}}\n`;
}

/** True if the line ends with the checksum of what precedes it; undefined without a checksum. */
export function isIntact(line: string): boolean | undefined {
  const end = line.lastIndexOf(checksumMember);
  if (end < 0) return undefined;
  return line.slice(end) === `${checksumMember}${crc32(line.slice(0, end))}}`;
}

/** A journal's text with each line changed, under a checksum of the changed line. */
export function withChangedLines(journal: string, change: (text: string) => string): string {
  if (change(journal) === journal) return journal;
  const changed = journal.split('\n').map((line) => {
    const end = line.lastIndexOf(checksumMember);
    if (end < 0) return change(line);
    const text = change(line.slice(0, end));
    return `${text}${checksumMember}${crc32(text)}}`;
  });
  return changed.join('\n');
}
