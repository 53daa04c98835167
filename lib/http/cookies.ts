/** Cookies in and out. */

/** Name → value; the first of a name wins, quotes around a value are taken off. */
export const parseCookies = (header: string | undefined): Record<string, string> => {
  const cookies: Record<string, string> = Object.create(null)
  if (!header) return cookies
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at < 1) continue
    const name = pair.slice(0, at).trim()
    if (name === '' || name in cookies) continue
    const value = pair.slice(at + 1).trim()
    cookies[name] =
      value.length > 1 && value[0] === '"' && value.endsWith('"') ? value.slice(1, -1) : value
  }
  return cookies
}

/** Never readable by scripts, sent to our own pages only. Without `maxAge` (seconds) it ends with the browser. */
export const formatCookie = (
  name: string,
  value: string,
  { maxAge, secure = false }: { maxAge?: number; secure?: boolean } = {},
): string =>
  `${name}=${value}; HttpOnly${maxAge === undefined ? '' : `; Max-Age=${maxAge}`}; Path=/; SameSite=Lax${secure ? '; Secure' : ''}`

export const clearCookie = (name: string): string => `${name}=""; HttpOnly; Max-Age=0; Path=/`

/** Which page the redirect to /login was for: path and query as the server sees them. */
const RETURN_TO_COOKIE = 'agent_wanted'
const RETURN_TO_S = 300
const MAX_RETURN_TO_CHARS = 2_000

/**
 * Readable by the login page and sent to it alone. A redirect cannot say it otherwise: the address stays `/login`, and
 * the page that would know is never loaded. The first page where the target is too long.
 */
export const returnToCookie = (
  target: string,
  { prefix, secure }: { prefix: string; secure: boolean },
): string => {
  const value = target.length > MAX_RETURN_TO_CHARS ? '%2F' : encodeURIComponent(target)
  return `${RETURN_TO_COOKIE}=${value}; Max-Age=${RETURN_TO_S}; Path=${prefix}/login; SameSite=Lax${secure ? '; Secure' : ''}`
}
