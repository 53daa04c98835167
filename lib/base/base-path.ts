/** The path below which a reverse proxy serves the page, such as `/agent`. */

/** Used in `<base href>` and `Location`: plain segments only, so that it can contain no host and no markup. */
const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+\/?$/

/** Without a trailing slash; empty for the root. Undefined for anything but plain segments. */
export const parseBasePath = (text: string): string | undefined => {
  if (text === '' || text === '/') return ''
  return BASE_PATH.test(text) ? text.replace(/\/$/, '') : undefined
}

/** The path below the base path; empty for the base path itself. A path elsewhere is returned as it is. */
export const withoutBasePath = (path: string, base: string): string =>
  path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : path
