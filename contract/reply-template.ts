/** The form of a reply's template, which the simulator fills in and the harness infers. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };

export interface ReplyTemplate {
  readonly status?: number;
  /** Headers to add to the reply; null removes one that the simulator sends. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** JSON with placeholders. */
  readonly body?: Json;
  /** The body as literal text, if it is not JSON. */
  readonly text?: string;
  /** The order in which a 400 names failing fields; by default that of the document's table. */
  readonly fields?: readonly string[];
  /** The shape of one entry of `{items}`. */
  readonly item?: Json;
}
