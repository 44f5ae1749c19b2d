/**
 * Pins the bytes of the native module that reads every request. It comes from a republisher, so a
 * swapped binary must fail this test even if the lockfile was changed with it.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { withoutNative } from '#verify/testkit/transport-fixture.ts';

const digests: Readonly<Record<string, string>> = {
  '20': '4d482084b665c225892917ee0e9b9572d89eaa6f3dc200ff5e536293d3456c89',
  '22': 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
  '24': '177efdc682425d754474bd30f9586c487fa6694f790f3406a23885d0e61c07a0',
  '26': '604375741bf77780b34e7e299af9274cb1f56d73732201d19e3d8d8448176795',
};

const require = createRequire(import.meta.url);
const major = process.versions.node.split('.')[0] ?? '';
/** Skipped if another build was selected by name, or none is pinned for this platform. */
const pinned =
  process.env['SMSTWIN_UWS'] === undefined &&
  process.platform === 'linux' &&
  process.arch === 'x64';

test.runIf(pinned && withoutNative === '')(
  `the loaded native binary has the pinned hash${withoutNative}`,
  async () => {
    await import('./hyper-express/server.ts');
    const loaded = Object.keys(require.cache).filter(
      (file) => file.endsWith('.node') && file.includes('uws'),
    );
    expect(loaded).toHaveLength(1);
    const digest = createHash('sha256')
      .update(readFileSync(loaded[0] ?? ''))
      .digest('hex');
    expect(digest).toBe(digests[major]);
  },
);
