/**
 * Names and values, such as the fields of one message.
 */
import { type ComponentChildren, Fragment } from 'preact';
import { CopyButton } from './action.tsx';

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

/** Each with a button that copies it. */
export function CopyFacts({ of }: { readonly of: readonly (readonly [string, string])[] }) {
  const copied = of.map(
    ([name, value]): Fact => [
      name,
      <span key={name} class="actions">
        <span class="mono breaks">{value}</span>
        <CopyButton what={name} text={() => value}>
          Copy
        </CopyButton>
      </span>,
    ],
  );
  return <Facts of={copied} />;
}
