/**
 * Compares `docs/rules.md` with the code: the rules and assumptions that modules and tests cite,
 * and the ledger of assumptions.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assumptionNames } from '#contract/assumptions.ts';
import { faultKindNames } from '#contract/fault-kinds.ts';
import { assumptionLedger } from '#src/sim/assumptions.ts';
import { everything, headerOf, root, scans, source, withoutComments } from './modules.ts';

const ledgerText = readFileSync(join(root, 'docs/rules.md'), 'utf8');
const [rulesPart = '', assumptionsPart = ''] = ledgerText.split('## Assumptions');
const ruleIds = [...rulesPart.matchAll(/^\| ([A-Z]+-\d+) /gm)].map(([, id = '']) => id);

/** The rule ids that a text cites; `SEND-5 to SEND-7` cites three. */
function citedRules(text: string): Set<string> {
  const cited = new Set<string>();
  for (const [, group = '', first = '', last = first] of text.matchAll(
    /\b([A-Z]+)-(\d+)(?: to \1-(\d+))?/g,
  )) {
    for (let n = Number(first); n <= Number(last); n++) cited.add(`${group}-${n}`);
  }
  return cited;
}

test('the ledger of rules is read: eight groups and VER, numbered from 1 without a gap', () => {
  const groups = new Map<string, number[]>();
  for (const id of ruleIds) {
    const [group = '', number = ''] = id.split('-');
    groups.set(group, [...(groups.get(group) ?? []), Number(number)]);
  }
  expect([...groups.keys()]).toEqual([
    'SVC',
    'RES',
    'STATE',
    'SEND',
    'READ',
    'AUTH',
    'ERR',
    'LIMIT',
    'VER',
  ]);
  for (const numbers of groups.values()) expect(numbers).toEqual(numbers.map((_, i) => i + 1));
});

test('every rule id that code cites is a rule', () => {
  const groups = new Set(ruleIds.map((id) => id.split('-')[0]));
  // Tests of the harness cite rules that do not exist.
  const cited = source.filter(({ path, isTest }) => !(isTest && path.startsWith('conformance/')));
  const unknown = cited.flatMap(({ path, text }) =>
    [...citedRules(text)]
      .filter((id) => groups.has(id.split('-')[0]) && !ruleIds.includes(id))
      .map((id) => `${path}: ${id}`),
  );
  expect(unknown).toEqual([]);
});

test.each([
  // The id of a case begins with its rule.
  ['conformance/cases/', /['"`]([A-Z]+-\d+)\//g, 10],
  ['verify/defects/', /breaking\(\s*'([A-Z]+-\d+)'/g, 8],
])(
  'the header of a file of %s cites each rule that one of them is about',
  (room, pattern, least) => {
    const files = everything.filter(({ path, isTest }) => path.startsWith(room) && !isTest);
    const uncited = files.flatMap(({ path, text }) => {
      const cited = citedRules(headerOf(text));
      const about = [...text.matchAll(pattern)].map(([, rule = '']) => rule);
      return [...new Set(about)]
        .filter((rule) => !cited.has(rule))
        .map((rule) => `${path}: its header lacks the rule ${rule}`);
    });
    expect(uncited).toEqual([]);
    expect(files.length).toBeGreaterThan(least);
  },
);

/** The words after `Assumes:` in the header of a module. */
function assumedIn(text: string): readonly string[] {
  const cited = /Assumes: ([^.]*)\./.exec(headerOf(text))?.[1] ?? '';
  return cited.replace(/\([^)]*\)/g, '').split(/[\s,]+/);
}

const isAssumption = (word: string) => assumptionNames.some((name) => name === word);

test('every assumption that a header cites is an assumption', () => {
  const unknown = scans.code.flatMap(({ path, text }) =>
    assumedIn(text)
      .filter((word) => /^[a-z]+[A-Z]/.test(word) && !isAssumption(word))
      .map((word) => `${path}: ${word}`),
  );
  expect(unknown).toEqual([]);
});

/** The fields that code reads of the answers in force: by a point, or by taking them apart. */
function answersReadIn(code: string): readonly string[] {
  const answers = String.raw`\b(?:assumptions|answers)\b`;
  const byPoint = [...code.matchAll(new RegExp(`${answers}\\.(\\w+)`, 'g'))];
  const apart = [
    ...code.matchAll(
      new RegExp(
        String.raw`\{([^{}]*)\}(?:: (?:Pick<)?Assumptions\b| = (?:[\w.#]+\.)?#?${answers})`,
        'g',
      ),
    ),
  ];
  const fields = apart.flatMap(([, list = '']) => list.split(','));
  return [
    ...byPoint.map(([, name = '']) => name),
    ...fields.map((field) => field.split(/[:=]/)[0]?.trim() ?? ''),
  ].filter(isAssumption);
}

test('a module of the service or of the reference model says in its header what it assumes', () => {
  const modules = everything.filter(
    ({ path, isTest }) => /^(?:src|verify\/model)\//.test(path) && !isTest,
  );
  const uncited = modules.flatMap(({ path, text }) => {
    const assumed = assumedIn(text);
    if (['any', 'all', 'every'].some((word) => assumed.includes(word))) return [];
    return [...new Set(answersReadIn(withoutComments(text)))]
      .filter((name) => !assumed.includes(name))
      .map((name) => `${path}: its header lacks "Assumes: ${name}"`);
  });
  expect(uncited).toEqual([]);
  const read = modules.flatMap(({ text }) => answersReadIn(withoutComments(text)));
  expect(new Set(read).size).toBeGreaterThan(assumptionNames.length / 2);
});

const semantics = readFileSync(join(root, 'docs/semantics.md'), 'utf8');

test.each(assumptionNames)('docs/semantics.md says where %s decides', (name) => {
  expect(semantics).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``));
});

test('each answer that docs/semantics.md names is one', () => {
  const named = [...semantics.matchAll(/`(\w+): ([a-z]\w*)`/g)].filter(([, name = '']) =>
    isAssumption(name),
  );
  const wrong = named.filter(
    ([, name, answer]) =>
      !assumptionNames.some(
        (each) =>
          each === name && (assumptionLedger[each].answers as string[]).includes(`${answer}`),
      ),
  );
  expect(wrong.map(([text]) => text)).toEqual([]);
  expect(named.length).toBeGreaterThan(10);
});

/** Every answer that has a name, as the pages write it. */
const namedAnswers = assumptionNames.flatMap((name) =>
  assumptionLedger[name].answers.map((answer) => `${name}: ${answer}`),
);

test('an answer or a fault kind since 1.1 has its line in CHANGELOG.md, an answer one in docs/semantics.md', () => {
  const kept = JSON.parse(readFileSync(join(root, 'verify/kept/names-of-1.1.json'), 'utf8'));
  const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const lacking = (names: readonly string[], page: string) =>
    names.filter((name) => !kept.includes(name) && !page.includes(`\`${name}\``));
  expect(lacking([...namedAnswers, ...faultKindNames], changes)).toEqual([]);
  expect(lacking(namedAnswers, semantics)).toEqual([]);
  expect(kept.length).toBeGreaterThan(100);
});

test('every assumption that has several answers is read by name outside its ledger', () => {
  const isOpen = (name: (typeof assumptionNames)[number]) =>
    assumptionLedger[name].answers.length > 1 || 'alsoAccepts' in assumptionLedger[name];
  const readers = scans.deciding.map(({ text }) => withoutComments(text));
  const unread = assumptionNames.filter(
    (name) => isOpen(name) && !readers.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
  );
  expect(unread).toEqual([]);
});

const twinTests = scans.twin.filter(({ isTest }) => isTest);
const citing = scans.twin.filter(({ isTest, path }) => !isTest && path !== 'contract/rules.ts');
const builtGroups = /^(SVC|RES|STATE|SEND|READ|AUTH|ERR|LIMIT)-/;
const builtRules = ruleIds.filter((id) => builtGroups.test(id));

test.each(builtRules)('%s is cited in code and opens the name of a test', (id) => {
  expect(citing.some(({ text }) => citedRules(text).has(id))).toBe(true);
  // A name that opens with this id or with several; in a table of tests it is an entry of its own.
  const opening = new RegExp(`['"\`](?:[A-Z]+-\\d+ )*${id}(?: |')`);
  expect(twinTests.some(({ text }) => opening.test(text))).toBe(true);
});

interface Row {
  readonly names: readonly string[];
  /** What opens each answer: a name in back ticks, or a number. */
  readonly answers: readonly { readonly text: string; readonly isName: boolean }[];
}

const rows: readonly Row[] = [
  ...assumptionsPart.matchAll(/^\| (`.*?) *\| (.*?) *\| (.*?) *\|$/gm),
].map(([, names = '', , cell = '']) => ({
  names: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  answers: cell.split(' · ').map((answer) => {
    const name = /^`([^`]*)`/.exec(answer)?.[1];
    return { text: name ?? /^[\d,.…]*\d|^\S+/.exec(answer)?.[0] ?? '', isName: name !== undefined };
  }),
}));

test('docs/rules.md lists the assumptions of the ledger, in its order', () => {
  expect(rows.flatMap(({ names }) => names)).toEqual(assumptionNames);
});

test.each(assumptionNames)(
  'docs/rules.md gives %s the default and the answers of the ledger',
  (name) => {
    const row = rows.find(({ names }) => names.includes(name));
    const entry = assumptionLedger[name];
    const [first] = row?.answers ?? [];
    const isEmpty = JSON.stringify(entry.default) === '{}';
    const fallback = isEmpty ? 'none' : String(entry.default);
    const inTable = first?.isName ? first.text : first?.text.replaceAll(',', '');
    expect(inTable).toBe(fallback);
    const named = (row?.answers ?? []).filter(({ isName }) => isName).map(({ text }) => text);
    const hasOpenAnswers = 'alsoAccepts' in entry;
    expect(hasOpenAnswers ? named.filter((text) => text !== fallback) : named).toEqual(
      hasOpenAnswers ? entry.answers.filter((answer) => answer !== fallback) : entry.answers,
    );
  },
);
