/** Why a world is not found or not created. */
import { OperationRefused } from '../sim/operation-refused.ts';

const longestShownId = 60;

/** The body of the 404 for an unknown or expired world. */
export function unknownWorld(worldId: string): { readonly code: string; readonly detail: string } {
  const shown =
    worldId.length > longestShownId ? `${worldId.slice(0, longestShownId)}...` : worldId;
  return {
    code: 'world_not_found',
    detail: `There is no world ${shown}: it was deleted, it expired, or it was never created.`,
  };
}

/** `path`: where the input gives the key. */
export function keyInUse(path?: string): OperationRefused {
  return new OperationRefused('conflict', 'another world has this key', path);
}

export function nameInUse(name: string): OperationRefused {
  return new OperationRefused('conflict', `a world is called ${name} already`, 'name');
}
