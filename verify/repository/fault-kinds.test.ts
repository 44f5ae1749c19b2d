/**
 * The pages that speak of faults name every kind, and say of each what its row in
 * `contract/fault-kinds.ts` says. Each place that must know how a fault delivers a reply does.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faultKindNames, faultKinds, isReadable } from '#contract/fault-kinds.ts';
import { faultNames } from '#contract/fault-schedule.ts';
import type { Delivery } from '#contract/request-and-reply.ts';
import { root } from './modules.ts';

const page = (name: string) => readFileSync(join(root, 'docs', name), 'utf8');
const quoted = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

test.each(faultKindNames)('docs/control-api.md says what the fault %s does', (kind) => {
  const [, kinds = ''] = /^- `fault\.kind`:([\s\S]*?)^- /m.exec(page('control-api.md')) ?? [];
  expect(kinds).toContain(`\`${kind}\` (`);
});

test('docs/traffic.md says which faults reach the service', () => {
  const [, reach = '', others = ''] =
    /^(.*) reach the service, .*?; (.*) do\nnot\./m.exec(page('traffic.md')) ?? [];
  const isNamed = (kind: (typeof faultKindNames)[number]) => faultKinds[kind].reply !== 'late';
  const ofTable = (isHandled: boolean) =>
    faultKindNames.filter((kind) => isNamed(kind) && faultKinds[kind].isHandled === isHandled);
  expect(quoted(reach).sort()).toEqual(ofTable(true).sort());
  expect(quoted(others).sort()).toEqual(ofTable(false).sort());
});

test("docs/explore.md has a row for each of the explorer's faults, from the weakest on", () => {
  const [, section = ''] =
    /^## Faults\n([\s\S]*?)^Each fault is weaker/m.exec(page('explore.md')) ?? [];
  const rows = section.split('\n').map((line) => line.split('|')[1] ?? '');
  expect(rows.flatMap(quoted)).toEqual(faultNames);
});

test('of the faults that let the service act, those with a readable reply come first', () => {
  const readable = faultKindNames
    .filter((kind) => faultKinds[kind].isHandled)
    .map((kind) => isReadable(faultKinds[kind]));
  const order = 'move its row in contract/fault-kinds.ts: the weakest come first';
  expect(readable, order).toEqual(readable.toSorted((one, other) => Number(other) - Number(one)));
});

interface DeliveryMember {
  /** Its name in replies of the control port. */
  readonly wire: string;
  /** Places that need not know it, each with the reason. */
  readonly notIn: Readonly<Record<string, string>>;
}

const deliveryMembers = {
  delayMs: {
    wire: 'delay_ms',
    notIn: { 'src/recording/recorded-exchange.ts': 'a late reply arrives whole' },
  },
  cut: { wire: 'cut', notIn: {} },
} satisfies Record<keyof Delivery, DeliveryMember>;

/** What each place does with the delivery of a reply. */
const placesOfDelivery = {
  'src/http/transport/answers.ts': 'every transport delays or cuts the reply by it',
  'src/recording/journal/world-journal.ts': 'journals the end of a reply that did not end at once',
  'src/recording/recorded-exchange.ts': 'says whether the client saw the reply',
  'src/recording/judged-exchanges.ts': 'says when the reply came, and whether it was seen',
  'judging/evidence/journal-exchanges.ts': 'reads both from a journal',
  'schemas/journal.schema.json': 'describes it to readers of journals',
  'src/operations/requests/request-views.ts': 'shows it on the control port',
  'src/operations/requests/har.ts': 'shows it in a HAR file',
  'src/operations/worlds/situation.ts': 'makes a test that expects it',
  'contract/fault-kinds.ts': 'says it in words',
};

test.each(
  Object.entries<DeliveryMember>(deliveryMembers).flatMap(([member, { wire, notIn }]) =>
    Object.entries(placesOfDelivery)
      .filter(([place]) => !(place in notIn))
      .map(([place, does]) => ({ member, wire, place, does })),
  ),
)('$place, which $does, knows Delivery.$member', ({ member, wire, place }) => {
  const text = readFileSync(join(root, place), 'utf8');
  expect(text).toMatch(new RegExp(`\\b(?:${member}|${wire})\\b`));
});
