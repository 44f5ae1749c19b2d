/** Counts and findings in words, and the names of worlds. Runs anywhere. */

/** `1 message`, `1,200 messages`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** The start of the name of a copy of a world that was advanced by an hour. */
export const aheadName = 'an hour after';

/** The prefix of the paths of a world on the control port. */
export function prefixOf(worldId: string): string {
  return worldId === 'default' ? '' : `/w/${worldId}`;
}

/** The text of a finding without the time of its last request, which is shown separately. */
export function findingText(what: string): string {
  return what.replace(/ \(request at [^)]*\)$/, '');
}
