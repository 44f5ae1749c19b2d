/** Asks for the control token, in place of every page while it is missing or wrong. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { controlToken, keepToken } from '../control.ts';
import type { Field, Typed } from '../field.ts';
import { Form } from './action.tsx';
import { FieldInput } from './fields.tsx';

const field: Field = {
  name: 'token',
  title: 'Control token',
  kind: 'secret',
  hint: 'Kept in this tab until it is closed.',
};

export function TokenDialog() {
  const typed = useSignal<Typed>({});
  useEffect(() => document.querySelector('input')?.focus(), []);
  const mistakes = controlToken() === null ? {} : { token: 'This token is wrong.' };
  const enter = () => {
    const { token = '' } = typed.value;
    if (token === '') return;
    keepToken(token);
    location.reload();
  };
  return (
    <main class="token">
      <Form class="card form" aria-label="Control token" act={enter}>
        <h1>smstwin</h1>
        <p>
          This control port requires the token that <code>--control-token</code> set.
        </p>
        <FieldInput field={field} typed={typed} mistakes={mistakes} choices={{}} />
        <div class="actions">
          <button type="submit" class="button main">
            Continue
          </button>
        </div>
      </Form>
    </main>
  );
}
