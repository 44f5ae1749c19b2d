/**
 * The interface of a client on the scorecard, and its settings. The client resolves with the parsed
 * reply of an accepted send, and rejects when its library gives up.
 */
export interface Service {
  readonly url: string;
  /** Includes the key. */
  readonly headers: Readonly<Record<string, string>>;
}

export type Send = (message: object) => Promise<unknown>;

export type Configuration = (service: Service) => Send;
