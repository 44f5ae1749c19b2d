/**
 * Reads server-sent events from a text stream, piece by piece. The browser's own EventSource cannot
 * send the control token.
 */
export interface ServerEvent {
  readonly kind: string;
  readonly data: string;
  readonly id: string | undefined;
}

export class EventReader {
  #rest = '';

  /** The events that `piece` completes. */
  read(piece: string): ServerEvent[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const event = readBlock(block);
      return event === undefined ? [] : [event];
    });
  }
}

function readBlock(block: string): ServerEvent | undefined {
  let kind = 'message';
  let data: string | undefined;
  let id: string | undefined;
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) kind = line.slice(7);
    else if (line.startsWith('data: ')) data = line.slice(6);
    else if (line.startsWith('id: ')) id = line.slice(4);
  }
  return data === undefined ? undefined : { kind, data, id };
}
