/**
 * Starts the dashboard in the browser. The page shows live what the simulator does and offers its
 * operations, all through the control port that served it. `shell.tsx` draws the page. While the
 * control token is missing or wrong, a form asks for it.
 */
import { effect, useSignal } from '@preact/signals';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { followClock } from './clock.ts';
import { controlToken, keepToken, tokenIsMissing } from './control.ts';
import { connection, followEvents } from './events.ts';
import type { Field, Typed } from './field.ts';
import { Form } from './parts/action.tsx';
import { FieldInput } from './parts/fields.tsx';
import { followAddress } from './route.ts';
import { Shell } from './shell.tsx';

const Page = () => (tokenIsMissing.value ? <TokenDialog /> : <Shell />);

const tokenField: Field = {
  name: 'token',
  title: 'Control token',
  kind: 'secret',
  hint: 'Kept in this tab until it is closed.',
};

function TokenDialog() {
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
        <FieldInput field={tokenField} typed={typed} mistakes={mistakes} choices={{}} />
        <div class="actions">
          <button type="submit" class="button main">
            Continue
          </button>
        </div>
      </Form>
    </main>
  );
}

const container = document.getElementById('page');
if (container !== null) {
  followAddress();
  followEvents();
  // Waits for the stream of events: what was read before it opened would have to be read again.
  let isStarted = false;
  effect(() => {
    if (isStarted || (connection.value === 'connecting' && !tokenIsMissing.value)) return;
    isStarted = true;
    // Outside this effect, which would otherwise follow every signal that the page reads.
    queueMicrotask(() => {
      container.replaceChildren();
      followClock();
      render(<Page />, container);
    });
  });
}
