/** Decides which template the file of `--discover` needs for a reply with a list. */
import type { Json, ReplyTemplate } from '#contract/reply-template.ts';
import { isObject } from '../service/expectations.ts';
import { abstracted, type Inferred, type Sample } from './infer-template.ts';

/**
 * The template of a reply with one list: the place of the list, and the shape of an entry (`item`).
 * `own`: the members that the simulator sets to null by itself.
 */
export function templateOfList(
  { reply, values }: Sample,
  own: readonly string[],
  item: Inferred | undefined,
): Inferred | { readonly undetermined: string } {
  const json = reply.json as Json;
  if (Array.isArray(json)) return withItem({ body: '{items}' }, item);
  if (!isObject(json)) return { undetermined: 'not a JSON list' };
  const lists = Object.entries(json).filter(([, value]) => Array.isArray(value));
  const [list] = lists;
  if (list === undefined || lists.length > 1)
    return { undetermined: `${lists.length} lists in it` };
  const [listName, entries] = list as [string, readonly Json[]];
  const body: Record<string, Json> = {};
  for (const [name, value] of Object.entries(json) as [string, Json][]) {
    if (name === listName) body[name] = '{items}';
    else if (value === entries.length && /count|total/i.test(name)) body[name] = '{count}';
    else if (value === null && own.includes(name)) body[name] = `{${name}}`;
    else body[name] = abstracted(value, values);
  }
  return withItem({ body }, item);
}

function withItem(template: ReplyTemplate, item: Inferred | undefined): Inferred {
  if (item === undefined) return { template, undetermined: [] };
  const { body } = item.template;
  return {
    template: { ...template, ...(body !== undefined && { item: body }) },
    undetermined: item.undetermined,
  };
}
