/**
 * Shows a sentence of the ledgers; text between backticks is shown as code.
 */
export function CodeText({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split('`')
        .map((part, place) =>
          place % 2 === 0 ? part : <code key={`${part} ${place}`}>{part}</code>,
        )}
    </>
  );
}
