/** `--defect NAME` and `--list-defects`, the flags that only `npm run serve:defects` has. */
import type { CheckoutFlags, CheckoutRequest } from '#cli/serve/serve.ts';
import { ValueError } from '#io/flags.ts';
import { table } from '#io/terminal.ts';
import { defects, wrongSimulation } from './catalogue.ts';
import type { Defect } from './planted.ts';

export const defectFlags: CheckoutFlags = {
  flags: [
    {
      flag: '--defect <name>',
      about: 'plant a defect that breaks one rule, to test a harness with',
      parse: defectValue,
    },
    { flag: '--list-defects', about: 'print every defect and the rule that it breaks' },
  ],
  read: async ({ listDefects, defect }): Promise<CheckoutRequest> => {
    if (listDefects === true) return { answer: defectList() };
    const planted = defects.find(({ name }) => name === defect);
    if (planted === undefined) return {};
    return { notice: noticeOf(planted), simulation: wrongSimulation(planted.name) };
  },
};

function defectValue(text: string): string {
  if (defects.some(({ name }) => name === text)) return text;
  throw new ValueError('no defect has this name; run npm run serve:defects -- --list-defects');
}

function defectList(): string {
  const rows = defects.map(({ name, rule, does }) => [name, rule, does]);
  return table([['DEFECT', 'BREAKS', 'WHAT SUCH A SERVER DOES'], ...rows]);
}

function noticeOf({ name, rule, does }: Defect): string {
  return `this server is wrong on purpose (--defect ${name}, ${rule}): ${does}`;
}
