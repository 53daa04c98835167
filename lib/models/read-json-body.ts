/** The body of a reply as JSON, bounded in size. */
import type { Dispatcher } from 'undici'

/** Null for a body that is too long; undefined for one that is not JSON, such as an HTML page of a gateway. */
export const readJsonBody = async (
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
): Promise<unknown> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxBytes) return null
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    // The caller reports what is missing.
    return undefined
  }
}
