/** The name under which an answer about a destination of commands is remembered. */

/** Those of the web: an answer about a host is for both. */
export const isPublicPort = (port: number): boolean => port === 80 || port === 443

/** A name of the internet that leads into the person's own network is another thing to allow than the name. */
export const networkKey = ({
  host,
  port,
  address,
}: {
  host: string
  port: number
  address?: string
}): string => {
  const name = host.includes(':') ? `[${host}]` : host
  const place = isPublicPort(port) ? name : `${name}:${port}`
  return `network: ${place}${address === undefined ? '' : ' (own network)'}`
}
