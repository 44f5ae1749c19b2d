/**
 * Checks before a run that a report can be written: otherwise its findings would be lost.
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
