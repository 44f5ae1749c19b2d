import { expect, test } from 'vitest';
import { EventReader } from './page/event-reader.ts';

test('events are read whole however the stream is cut', () => {
  const text =
    ': open\n\nid: 1\nevent: message\ndata: {"a":1}\n\nid: 2\nevent: clock\ndata: {}\n\nid: 3\nev';
  for (let at = 0; at < text.length; at++) {
    const reader = new EventReader();
    const events = [...reader.read(text.slice(0, at)), ...reader.read(text.slice(at))];
    expect(events).toEqual([
      { id: '1', kind: 'message', data: '{"a":1}' },
      { id: '2', kind: 'clock', data: '{}' },
    ]);
  }
});
