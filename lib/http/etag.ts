/** ETags and If-None-Match. */
import { hash } from 'node:crypto'

/** Beyond this size, hashing costs more than it saves on a local network. */
const MAX_HASHED_CHARS = 256 * 1024

/** A strong ETag; undefined for text that is too long to hash. */
export const etagOf = (text: string): string | undefined =>
  text.length > MAX_HASHED_CHARS ? undefined : `"${hash('sha1', text, 'base64url')}"`

export const isNotModified = (
  ifNoneMatch: string | undefined,
  etag: string | undefined,
): boolean => {
  if (ifNoneMatch === undefined || etag === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  const bare = etag.replace(/^W\//, '')
  return ifNoneMatch.split(',').some(tag => tag.trim().replace(/^W\//, '') === bare)
}
