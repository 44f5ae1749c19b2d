/**
 * Asks for the token of the control port, in place of the page. Each tab asks once.
 */
import { useEffect, useRef } from 'preact/hooks';
import { readState } from './clock.ts';
import { controlToken, keepToken, tokenIsMissing } from './control.ts';
import { reconnectNow } from './events.ts';

export function TokenDialog() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const wasWrong = tokenIsMissing.value && controlToken() !== null;
  return (
    <main class="token">
      <form
        class="card form"
        aria-label="Control token"
        onSubmit={(event) => {
          event.preventDefault();
          const token = input.current?.value ?? '';
          if (token === '') return;
          keepToken(token);
          reconnectNow();
          void readState();
        }}
      >
        <h1>smstwin</h1>
        <p>
          This control port requires the token that <code>--control-token</code> set.
        </p>
        <div class="field">
          <label for="token">Control token</label>
          <input
            id="token"
            ref={input}
            type="password"
            autocomplete="off"
            aria-invalid={wasWrong}
            aria-describedby="token-hint"
          />
          <p id="token-hint" class={wasWrong ? 'problem' : 'hint'}>
            {wasWrong ? 'This token is wrong.' : 'Kept in this tab until it is closed.'}
          </p>
        </div>
        <div class="actions">
          <button type="submit" class="button main">
            Continue
          </button>
        </div>
      </form>
    </main>
  );
}
