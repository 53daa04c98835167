/** Parses the Cookie header and formats Set-Cookie headers. */

/** Name → value. The first cookie of a name counts; quotes around a value are removed. */
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

/** HttpOnly and SameSite=Lax. Without `maxAge` (seconds) it is a session cookie. `path` is as the browser sees it. */
export const formatCookie = (
  name: string,
  value: string,
  { maxAge, secure = false, path = '/' }: { maxAge?: number; secure?: boolean; path?: string } = {},
): string =>
  `${name}=${value}; HttpOnly${maxAge === undefined ? '' : `; Max-Age=${maxAge}`}; Path=${path}; SameSite=Lax${secure ? '; Secure' : ''}`

export const clearCookie = (name: string): string => `${name}=""; HttpOnly; Max-Age=0; Path=/`

/** Path and query that were requested before the redirect to /login. */
const RETURN_TO_COOKIE = 'agent_wanted'
const RETURN_TO_S = 300
const MAX_RETURN_TO_CHARS = 2_000

/**
 * Readable by the script of the login page, and limited to its path. A cookie, because the URL stays `/login` after the
 * redirect. Falls back to the first page when `target` is too long.
 */
export const returnToCookie = (
  target: string,
  { prefix, secure }: { prefix: string; secure: boolean },
): string => {
  const value = target.length > MAX_RETURN_TO_CHARS ? '%2F' : encodeURIComponent(target)
  return `${RETURN_TO_COOKIE}=${value}; Max-Age=${RETURN_TO_S}; Path=${prefix}/login; SameSite=Lax${secure ? '; Secure' : ''}`
}
