/** Base64 `data:` URLs of any size. */

/**
 * Media type and base64 of a `data:` URL; null for other URLs. Parameters are dropped, the type is in lower case.
 * The data is checked for characters that are not base64, never matched as a whole: a pattern that repeats
 * over megabytes can exhaust the stack of the regular expression engine.
 */
export const parseDataUrl = (url: string): { mediaType: string; data: string } | null => {
  const comma = url.indexOf(',')
  if (comma === -1 || comma > LONGEST_HEAD) return null
  const head = HEAD.exec(url.slice(0, comma))
  const data = url.slice(comma + 1)
  if (!head || data === '' || NOT_BASE64.test(data)) return null
  return { mediaType: head[1]!.toLowerCase(), data }
}

/** Characters; a head with more is no image. */
const LONGEST_HEAD = 300
const HEAD = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64$/i
/** Some programs write the URL-safe alphabet, or break lines. */
const NOT_BASE64 = /[^A-Za-z0-9+/=\s_-]/
