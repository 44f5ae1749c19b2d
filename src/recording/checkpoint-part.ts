/**
 * One part of a checkpoint as bytes: a value as JSON, with placeholders for typed arrays, followed
 * by the bytes of these arrays in the machine's order (little endian on every supported machine).
 */

const arrayTypes = { Uint8Array, Uint16Array, Float64Array };
type ArrayType = keyof typeof arrayTypes;
type AnyArray = InstanceType<(typeof arrayTypes)[ArrayType]>;

interface Place {
  readonly $array: ArrayType;
  readonly bytes: number;
}

const lengthBytes = 4;

export function encodePart(value: unknown): Uint8Array {
  const arrays: AnyArray[] = [];
  const json = JSON.stringify(value, (_, part: unknown) => {
    if (!ArrayBuffer.isView(part)) return part;
    const array = part as AnyArray;
    arrays.push(array);
    return { $array: array.constructor.name, bytes: array.byteLength };
  });
  const length = Buffer.alloc(lengthBytes);
  const text = Buffer.from(json);
  length.writeUInt32LE(text.length);
  const bytesOf = ({ buffer, byteOffset, byteLength }: AnyArray) =>
    new Uint8Array(buffer, byteOffset, byteLength);
  return Buffer.concat([length, text, ...arrays.map(bytesOf)]);
}

export function decodePart(part: Uint8Array): unknown {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  const textEnd = lengthBytes + bytes.readUInt32LE();
  let at = textEnd;
  return JSON.parse(bytes.toString('utf8', lengthBytes, textEnd), (_, value: unknown) => {
    if (!isPlace(value)) return value;
    const copy = new Uint8Array(bytes.subarray(at, at + value.bytes));
    at += value.bytes;
    return new arrayTypes[value.$array](copy.buffer);
  });
}

function isPlace(part: unknown): part is Place {
  return typeof part === 'object' && part !== null && '$array' in part;
}
