/** Fetches pages for the model: extracts the readable text and summarizes long ones. */
import { invalid } from '../errors.ts'
import { fetchPage, type FetchAccess } from './web.ts'

export type Page = { url: string; title: string; content: string }

export type ExtractDeps = FetchAccess & {
  /** Summarizes a long page with the auxiliary model; null when there is none. */
  summarize: ((text: string, about: { url: string; title: string }) => Promise<string>) | null
}

const MAX_BYTES = 5 << 20
const TIMEOUT_MS = 30_000
/** Longest text of one page for the model, in characters. */
const MAX_CHARS = 20_000
/** Longest input of a summary, in characters. */
const MAX_SUMMARIZED_CHARS = 200_000

const HTML = /^(?:text\/html|application\/xhtml\+xml)$/
const TEXT =
  /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|javascript|rss|atom)(?:\+.+)?|application\/ld\+json|application\/toml)$/

const checkType = (type: string): void => {
  if (HTML.test(type) || TEXT.test(type)) return
  if (type === 'application/pdf')
    throw invalid('This is a PDF, which cannot be read here. Download it and use the terminal.')
  if (type.startsWith('image/'))
    throw invalid('This is a picture. Use vision_analyze to look at it.')
  throw invalid(`A page of the type "${type || 'unknown'}" cannot be read as text.`)
}

const cut = (text: string): string =>
  text.length <= MAX_CHARS
    ? text
    : `${text.slice(0, MAX_CHARS)}\n[… ${text.length - MAX_CHARS} more characters of this page are not shown …]`

export const readPage = async (
  deps: ExtractDeps,
  address: string,
  signal: AbortSignal,
): Promise<Page> => {
  const { summarize, ...access } = deps
  const fetched = await fetchPage(address, {
    ...access,
    signal,
    checkType,
    accept: 'text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,*/*;q=0.5',
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
  const { decode, readHtml } = await import('./readable.ts')
  const { url, type } = fetched
  const raw = decode(fetched.bytes, fetched.charset)
  const { title, text } = HTML.test(type) ? readHtml(raw, url) : { title: '', text: raw.trim() }
  if (text.length <= MAX_CHARS || !summarize) return { url, title, content: cut(text) }
  try {
    const summary = await summarize(text.slice(0, MAX_SUMMARIZED_CHARS), { url, title })
    return { url, title, content: `[Summary of ${text.length} characters]\n${summary}` }
  } catch (error) {
    if (signal.aborted) throw error
    // No model is available: return the beginning of the text.
    return { url, title, content: cut(text) }
  }
}
