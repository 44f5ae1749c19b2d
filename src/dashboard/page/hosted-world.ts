/**
 * Which world of the server the page shows: its path says so, `/w/<world_id>/` or `/`.
 */

/** What the paths of the control API start with; empty for the world the server started with. */
export const worldPrefix = prefixIn(globalThis.location?.pathname ?? '');

export function prefixIn(path: string): string {
  return /^\/w\/[^/]+/.exec(path)?.[0] ?? '';
}

/** The id of the world that is shown. */
export const shownWorld = worldPrefix.slice(3) || 'default';

/** The page of another world; the same page of it where the hash is kept. */
export function pageOf(worldId: string): string {
  const { hash } = globalThis.location;
  return worldId === 'default' ? `/${hash}` : `/w/${worldId}/${hash}`;
}
