/** Statuses with which a proxy says that it does not reach the server. */

/** Those of HTTP, and those that CDNs added. A server behind the proxy may send them, too: then the body is JSON. */
export const isGatewayStatus = (status: number): boolean =>
  (status >= 502 && status <= 504) || (status >= 520 && status <= 530)
