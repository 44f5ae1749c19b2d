/**
 * The form of an assumption's declaration: what the document leaves open, and each answer that a
 * real service might give. The schema, the pages, the harness's ledger and the notes in the OpenAPI
 * document follow from it.
 */
import type { RuleId } from '../rules.ts';

export interface Declaration {
  /** The question that the document leaves open. */
  readonly open: string;
  /** A remark that applies to all answers. */
  readonly note?: string;
  /** The named answers with what each does; the default first, unless `default` says otherwise. */
  readonly answers: Readonly<Record<string, string>>;
  /** Numbers that are answers too: whole ones, unless `fractions` is set. */
  readonly range?: { readonly min: number; readonly max: number; readonly fractions?: boolean };
  readonly default?: string | number;
  /** Why the default is the default. */
  readonly why: string;
  /** The rules that leave the question open. */
  readonly rules: readonly RuleId[];
  /** The endpoints whose description in the OpenAPI document names the assumption. */
  readonly endpoints?: readonly string[];
}
