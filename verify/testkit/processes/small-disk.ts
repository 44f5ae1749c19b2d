/** A disk of a megabyte that tests may fill. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';

/** Mounts such a disk on a folder; false if this is not permitted: only root may mount. */
export function mountSmallDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export function unmount(folder: string): void {
  execFileSync('umount', [folder]);
}

/** Fills the free space of the disk. */
export function fillDisk(file: string): void {
  const filler = openSync(file, 'w');
  try {
    for (;;) writeSync(filler, Buffer.alloc(4_096));
  } catch {
    closeSync(filler);
  }
}
