/** Destinations of commands as they are shown, and the name under which an answer about one is remembered. */

type Target = { host: string; port: number; address?: string | undefined }

/** Without the ports of the web: an answer about a host is for both. */
export const placeOf = ({ host, port }: Target): string => {
  const name = host.includes(':') ? `[${host}]` : host
  return port === 80 || port === 443 ? name : `${name}:${port}`
}

/** A name of the internet that leads into the person's own network is another thing to allow than the name. */
export const networkKey = (target: Target): string =>
  `network: ${placeOf(target)}${target.address === undefined ? '' : ' (own network)'}`
