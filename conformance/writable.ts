/**
 * Whether a report can be put where it is asked for: told before a run, whose findings would else
 * be lost.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export function isWritable(file: string): boolean {
  try {
    if (existsSync(file) && statSync(file).isDirectory()) return false;
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
