/** The value of `--report`: a kind and the file it goes to. */
import { isWritable } from './writable.ts';

export const reportKinds = ['junit', 'json', 'html', 'tap', 'markdown', 'github'] as const;
export type ReportKind = (typeof reportKinds)[number];

export interface Report {
  readonly kind: ReportKind;
  /** Undefined: standard output. */
  readonly file?: string;
}

/** What `kind=FILE` asks for, or a text that says what is wrong with it. */
export function readReport(value: string): Report | string {
  const at = value.indexOf('=');
  const kind = reportKinds.find((name) => name === (at < 0 ? value : value.slice(0, at)));
  if (kind === undefined) return `expected one of ${reportKinds.join(', ')}`;
  const file = at < 0 ? '' : value.slice(at + 1);
  if (kind === 'github') return file === '' ? { kind } : { kind, file };
  if (file === '') return `expected ${kind}=FILE`;
  return isWritable(file) ? { kind, file } : `${file} cannot be written`;
}
