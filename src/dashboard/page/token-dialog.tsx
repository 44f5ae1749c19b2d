/**
 * Asks for the control token, once per tab.
 */
import { useSignal } from '@preact/signals';
import { readState } from './clock.ts';
import { controlToken, keepToken, tokenIsMissing } from './control.ts';
import { reconnectNow } from './events.ts';
import { Submit, TextField } from './parts/fields.tsx';

export function TokenDialog() {
  const token = useSignal('');
  const wasWrong = tokenIsMissing.value && controlToken() !== null;
  return (
    <main class="token">
      <form
        class="card form"
        aria-label="Control token"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.value === '') return;
          keepToken(token.value);
          reconnectNow();
          void readState();
        }}
      >
        <h1>smstwin</h1>
        <p>
          This control port asks for a token: the one that <code>--control-token</code> was given.
        </p>
        <TextField
          label="Control token"
          type="password"
          of={token}
          hint="Kept in this tab until it is closed."
          problem={wasWrong ? 'This token is wrong.' : undefined}
        />
        <div class="actions">
          <Submit>Continue</Submit>
        </div>
      </form>
    </main>
  );
}
