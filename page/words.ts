/** Counts and findings in words, and the names of worlds. Runs anywhere. */

/** `1 message`, `1,200 messages`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** How the name begins of a copy of a world in an hour. */
export const aheadName = 'an hour after';

/** The prefix of the paths of a world on the control port. */
export function prefixOf(worldId: string): string {
  return worldId === 'default' ? '' : `/w/${worldId}`;
}

/** What a finding says, without the time of its last request, which is beside it. */
export function findingText(what: string): string {
  return what.replace(/ \(request at [^)]*\)$/, '');
}
