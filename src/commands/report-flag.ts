/** The value of `--report`: a kind of report and its file. */
import { isWritable } from './writable.ts';

export const reportKinds = ['junit', 'json', 'html', 'tap', 'markdown', 'github'] as const;
export type ReportKind = (typeof reportKinds)[number];

export interface Report {
  readonly kind: ReportKind;
  /** Undefined: standard output. */
  readonly file?: string;
}

/** Parses `kind=FILE`; returns a text that says what is wrong if it cannot. */
export function readReport(value: string): Report | string {
  const at = value.indexOf('=');
  const kind = reportKinds.find((name) => name === (at < 0 ? value : value.slice(0, at)));
  if (kind === undefined) return `expected one of ${reportKinds.join(', ')}`;
  const file = at < 0 ? '' : value.slice(at + 1);
  if (kind === 'github') return file === '' ? { kind } : { kind, file };
  if (file === '') return `expected ${kind}=FILE`;
  return isWritable(file) ? { kind, file } : `${file} cannot be written`;
}
