import { expect, test } from 'vitest';
import { createSimulator, SettingsError } from './api.ts';

test('an unknown option or setting is named, with those that exist', async () => {
  const misspelt = createSimulator({}, { jornal: 'run.ndjson' } as never);
  await expect(misspelt).rejects.toThrow(
    'jornal: this option is not known here; use journal, journalDir, journalMaxBytes, onNotice',
  );
  await expect(misspelt).rejects.toBeInstanceOf(SettingsError);
  const setting = createSimulator({ sead: 1 } as never);
  await expect(setting).rejects.toThrow('sead: this key is not known here');
});
