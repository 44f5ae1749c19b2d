import type { ClientTools } from '#explore/explore.ts';

export type Bug = string;
export const bugs: Readonly<Record<Bug, unknown>>;
export function run(
  tools: Pick<ClientTools, 'fetch' | 'baseUrl' | 'apiKey' | 'from'>,
  bug: Bug,
  messages: number,
): Promise<void>;
