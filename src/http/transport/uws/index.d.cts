/** The part of uWebSockets.js that this project and HyperExpress' typings use. */
export type RecognizedString = string | ArrayBuffer | Uint8Array;
export interface us_listen_socket {
  readonly __listen: unique symbol;
}
export interface us_socket_context_t {
  readonly __context: unique symbol;
}
export type ux_socket_context = us_socket_context_t;
export interface HttpResponse {
  cork(write: () => void): HttpResponse;
  writeStatus(status: RecognizedString): HttpResponse;
  writeHeader(key: RecognizedString, value: RecognizedString): HttpResponse;
  /** Announces `totalSize` as the length, whatever the chunk's own size. */
  tryEnd(chunk: RecognizedString, totalSize: number): [ok: boolean, done: boolean];
  end(body?: RecognizedString, closeConnection?: boolean): HttpResponse;
  /** Ends the response only without arguments: a length leaves it open unless it also closes. */
  endWithoutBody(reportedLength?: number, closeConnection?: boolean): HttpResponse;
  /** Ends the connection without writing; the abort handler runs. */
  close(): HttpResponse;
  onAborted(handler: () => void): HttpResponse;
  onWritable(handler: (offset: number) => boolean): HttpResponse;
  /** The chunk is only valid during the call. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): HttpResponse;
  getRemoteAddressAsText(): ArrayBuffer;
}
export type Response = HttpResponse;
export interface HttpRequest {
  /** The first header of that name; empty if there is none. */
  getHeader(lowerCaseKey: RecognizedString): string;
  getCaseSensitiveMethod(): string;
  forEach(visit: (key: string, value: string) => void): void;
}
export interface WebSocket<UserData = unknown> {
  getUserData(): UserData;
}
export type CompressOptions = number;
export type ListenCallback = (socket: us_listen_socket | false) => void;
export type NativeHandler = (response: HttpResponse, request: HttpRequest) => void;
type AddRoute = (pattern: string, handler: NativeHandler) => TemplatedApp;
export interface TemplatedApp {
  listen(host: string, port: number, done: ListenCallback): TemplatedApp;
  listen(host: string, port: number, options: number, done: ListenCallback): TemplatedApp;
  get: AddRoute;
  post: AddRoute;
  any: AddRoute;
  close(): TemplatedApp;
}
export const LIBUS_LISTEN_EXCLUSIVE_PORT: number;
/** Why no native build loads here; if undefined, the other exports are usable. */
export const unusable: string | undefined;
