/** `HTTPS_PROXY` and `HTTP_PROXY`, in either case and with the address as curl reads it. */

const SCHEMES = ['http:', 'https:', 'socks5:', 'socks:']

const read = (env: Readonly<Record<string, string>>, name: string): string => {
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim()
  if (value === '') return ''
  const address = value.includes('://') ? value : `http://${value}`
  // The value may contain a password.
  if (!URL.canParse(address) || !SCHEMES.includes(new URL(address).protocol))
    throw new Error(`${name} must be the address of a proxy, such as http://proxy.example:3128`)
  return address
}

/** Blank: none. Throws an Error with a sentence: a proxy that is not used would be a request past it. */
export const readProxies = (
  env: Readonly<Record<string, string>>,
): { httpProxy: string; httpsProxy: string } => ({
  httpProxy: read(env, 'HTTP_PROXY'),
  httpsProxy: read(env, 'HTTPS_PROXY'),
})
