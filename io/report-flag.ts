/** Reads the flag `--report kind=FILE`, and recognises the reports that a new one may replace. */
import { checkWritable } from './flag-values.ts';
import { ValueError } from './flags.ts';
import type { OwnKind } from './own-file.ts';

export const reportKinds = ['junit', 'json', 'html', 'markdown', 'github'] as const;
export type ReportKind = (typeof reportKinds)[number];

/** How the reports of every version begin, by kind; those of one command by kind and command. */
const reportOpenings: Readonly<Record<string, RegExp>> = {
  junit:
    /<\?xml .*\n<testsuites>\n(?:<\/testsuites>\n$| *<testsuite .* package="(?:conf|ref|expl)\w+" id="0")/,
  html: /<!doctype html>\n<html lang="en">[\s\S]{0,250}<title>(?:Conf|Ref|Expl|Audit|Bench|smstwin bench)\w* of /,
  markdown: /# (?:Conformance|Referee|Exploration)\n\nTarget: .* exit code \d+\n/,
  auditMarkdown: /# Audit of a rate limiter\n/,
  auditJson: /\{\s*"url": .*\s*"requests": \d+,\s*"seconds": /,
  github: /::\w+ title=(?:[a-z_ ]+%3A [A-Za-z]|stale expectation::|(?:Conf|Ref|Expl)\w+::)/,
  conformJson: /\{\s*"format": "smstwin-/,
  refereeJson: /\{\s*(?:"notice": .*\s*)?"rules": \[\s*\{\s*"id": "CLIENT-/,
  exploreJson: /\{\s*"command": .*\s*"started_at": .*\s*"duration_ms": /,
  benchJson: /\{\s*"node": "v.*\s*"started_at": .*\s*"open_loop_rate": /,
};

/** A report of any kind and command: one may replace another. */
export const ownReport: OwnKind = {
  name: 'report',
  isOwn: (start) => Object.values(reportOpenings).some((opening) => start.search(opening) === 0),
};

export interface Report<Kind extends ReportKind = ReportKind> {
  readonly kind: Kind;
  /** Undefined: standard output; only `github` may omit it. */
  readonly file?: string;
}

/** Returns a reader of `kind=FILE`, for these kinds. */
export function reportOf<const Kind extends ReportKind>(kinds: readonly Kind[]) {
  return (text: string): Report<Kind> => {
    const [word = '', ...pieces] = text.split('=');
    const file = pieces.join('=');
    const kind = kinds.find((each) => each === word);
    if (kind === undefined) throw new ValueError(`expected one of ${kinds.join(', ')}`);
    if (file !== '') return { kind, file: checkWritable(file, `${file} `, ownReport) };
    if (kind === 'github') return { kind };
    throw new ValueError(`expected ${kind}=FILE`);
  };
}

export const reportValue = reportOf(reportKinds);
