/**
 * The declaration of a list: its columns, its forms and the buttons of its rows. `lists.ts` has the
 * lists.
 */
import type { OperationName } from '#src/operations/table.ts';
import type { Typed } from './field.ts';

/** One object of a list: its fields by their wire names. */
export type Row = Readonly<Record<string, unknown>>;
/** A text to copy, such as a key, and what it is. */
export type TextFact = readonly [name: string, value: string];

export interface FormDeclaration {
  readonly operation: OperationName;
  readonly title: string;
  /** The text of the button. */
  readonly submit: string;
  /** The fields of the input that the form offers, in order. Default: all. */
  readonly fields?: readonly string[];
  /** The form makes one element of this list field of the input. Default: the whole input. */
  readonly listField?: string;
  /** What the inputs contain at first. */
  readonly initial?: Typed;
  readonly placeholders?: Typed;
  /** Buttons above the form, each with what it types into the fields. */
  readonly presets?: Readonly<Record<string, Typed>>;
  /** The field whose choices are the numbers of the chosen account and of the shared pool. */
  readonly numbersField?: string;
  /** Converts what the form makes to the input of the operation. `rows`: the rows of the list. */
  readonly toInput?: (made: Row, rows: readonly Row[]) => Row;
  /** Values that only this reply contains, such as a key; shown until the user dismisses them. */
  readonly oneTimeFacts?: (reply: Row) => readonly TextFact[];
}

/** A button in each row. `toInput` gets the row; without it the operation has no input. */
export interface RowAction extends Pick<FormDeclaration, 'operation' | 'toInput' | 'oneTimeFacts'> {
  readonly label: string;
  /** What the operation did, for the status line of the list. */
  readonly outcomeText?: (reply: Row) => string;
  /** What is lost. If set, the user must confirm the operation. */
  readonly warning?: string;
  /** Default: every row has the button. */
  readonly isOfferedFor?: (row: Row) => boolean;
  /** The address to go to afterwards; undefined: the page stays. */
  readonly nextAddress?: (row: Row) => string | undefined;
}

export interface ListDeclaration {
  readonly title: string;
  /** The operation whose output declares the columns; its reply holds the rows. */
  readonly readOperation: OperationName;
  /** Reads the rows, if they are not simply the reply to `readOperation`. */
  readonly readRows?: () => Promise<readonly Row[]>;
  /** The field that identifies a row. */
  readonly keyColumn: string;
  /** In order; the value of the first one is the row's name. */
  readonly columns: readonly string[];
  /** The links of a column's cells; undefined: the cell is not a link. */
  readonly links?: Readonly<Record<string, (row: Row) => string | undefined>>;
  /** Columns that a phone does not show. */
  readonly wideColumns?: readonly string[];
  /** Columns that are also fields of this operation's input become inputs. */
  readonly editOperation?: OperationName;
  /**
   * For lists of settings: the column of the values. The input of `editOperation` has one field for
   * each row, with the row's name.
   */
  readonly settingColumn?: string;
  readonly actions?: readonly RowAction[];
  readonly forms?: readonly FormDeclaration[];
  /** True if the list changes only by operations, like a list of settings. */
  readonly isSteady?: true;
  /** The filter that searches this list, if one search serves several lists. Default: its own. */
  readonly searchedBy?: string;
  /** Shown in place of an empty list. */
  readonly emptyText?: string;
  /** The sentence for a search that finds nothing, by its text. */
  readonly emptySearches?: Readonly<Record<string, string>>;
  /** The sentence above one-time facts. Default: that a key is never shown again. */
  readonly oneTimeNote?: string;
  /** A sentence above the list. */
  readonly lead?: string;
}
