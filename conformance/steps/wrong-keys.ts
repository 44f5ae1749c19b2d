/** Keys that are not valid: they differ from a valid one in a letter, in case or in length. */
import { paths, sendPaths } from '../run/case-run.ts';

export interface SimilarKey {
  readonly key: string;
  /** The sends to try it on. */
  readonly postPaths: readonly string[];
}

/** Keys that differ slightly from the valid one. */
export function similarKeys(valid: string): SimilarKey[] {
  const middle = Math.floor(valid.length / 2);
  const similar = [
    { key: withOtherCase(valid), postPaths: sendPaths },
    { key: valid.toLowerCase(), postPaths: [] },
    { key: valid.slice(0, middle + 1), postPaths: [paths.external_send] },
    { key: withOtherLetter(valid, middle), postPaths: [paths.send] },
    { key: withLookalike(valid), postPaths: [] },
    { key: `${valid}.`, postPaths: [paths.dashboard_send] },
  ];
  return similar.filter(({ key }) => key !== valid);
}

/** Keys with a letter changed, dropped or added, in other case, or cut in half. */
export function wrongKeys(valid: string): string[] {
  const all = [
    ...similarKeys(valid).map(({ key }) => key),
    withOtherLetter(valid, valid.length - 1),
    valid.slice(0, -1),
    `${valid}x`,
    valid.toUpperCase(),
    valid.slice(0, Math.ceil(valid.length / 2)),
    'wrong',
  ];
  return [...new Set(all)].filter((key) => key !== valid && key !== '');
}

function withOtherCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function withOtherLetter(text: string, index: number): string {
  const other = text[index] === 'x' ? 'y' : 'x';
  return `${text.slice(0, index)}${other}${text.slice(index + 1)}`;
}

const lookalikes: Readonly<Record<string, string>> = { 0: 'O', O: '0', 1: 'l', l: '1', I: '1' };

/** Replaces the first character that looks like another one. */
function withLookalike(text: string): string {
  return text.replace(/[0O1lI]/, (character) => lookalikes[character] ?? character);
}
