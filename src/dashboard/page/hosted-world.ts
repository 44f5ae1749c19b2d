/**
 * Which world of the server the page shows. Its path is `/w/<world_id>/`, or `/` for the first
 * world.
 */

/** The prefix of the control API's paths; empty for the first world. */
export const worldPrefix = /^\/w\/[^/]+/.exec(location.pathname)?.[0] ?? '';

/** The id of the shown world. */
export const shownWorld = worldPrefix.slice(3) || 'default';

export function prefixOf(worldId: string): string {
  return worldId === 'default' ? '' : `/w/${worldId}`;
}

/** The address of another world's dashboard: the same page, unless another is given. */
export function pageOf(worldId: string, hash = globalThis.location.hash): string {
  return `${prefixOf(worldId)}/${hash}`;
}
