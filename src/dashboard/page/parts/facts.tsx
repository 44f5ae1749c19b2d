/**
 * Names and values, such as the fields of one message.
 */
import { type ComponentChildren, Fragment } from 'preact';

export type Fact = readonly [name: string, value: ComponentChildren];

/** Facts without a value are left out. */
export function Facts({ of }: { readonly of: readonly Fact[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}
