/** PDF files in a request: their text takes their place before anything else reads the messages. */
import type { ReadDocument } from '../agent/tool-services.ts'
import { parseDataUrl } from '../base/data-url.ts'
import { asString } from '../base/json.ts'
import { messageOf } from '../errors.ts'
import type { ApiMessage, ApiPart } from './api-request.ts'
import { badParameter } from './parse.ts'

/** Characters of one file; the rest is left out. */
const MAX_CHARS = 400_000

/** `url`: a data URL; null for anything that is no PDF. */
export const pdfPart = (url: unknown, name: unknown, param: string): ApiPart | null => {
  const dataUrl = parseDataUrl(asString(url))
  return dataUrl?.mediaType === 'application/pdf'
    ? { type: 'pdf', data: dataUrl.data, name: asString(name) || 'document.pdf', param }
    : null
}

type Pdf = Extract<ApiPart, { type: 'pdf' }>

const toText = async (
  { data, name, param }: Pdf,
  read: ReadDocument,
  signal: AbortSignal,
): Promise<ApiPart> => {
  const range = { from: 1, to: Infinity }
  const { parts, isCut } = await read(Buffer.from(data, 'base64'), 'pdf', { range, signal }).catch(
    (error: unknown) => {
      signal.throwIfAborted()
      throw badParameter(param, `The PDF file cannot be read: ${messageOf(error)}`)
    },
  )
  const text = parts.map(({ title, text: page }) => `--- ${title} ---\n${page}`).join('\n')
  const isLong = isCut || text.length > MAX_CHARS
  const note = isLong ? '\n[… the rest of the file is left out …]' : ''
  return { type: 'text', text: `[file: ${name}]\n${text.slice(0, MAX_CHARS)}${note}` }
}

/** Throws a 400 for a file that cannot be read. */
export const withPdfText = async (
  messages: readonly ApiMessage[],
  read: ReadDocument,
  signal: AbortSignal,
): Promise<ApiMessage[]> => {
  const result: ApiMessage[] = []
  for (const message of messages) {
    if (message.role === 'assistant') result.push(message)
    else {
      const parts: ApiPart[] = []
      // One after another: each takes a process of its own.
      for (const part of message.parts)
        parts.push(part.type === 'pdf' ? await toText(part, read, signal) : part)
      result.push({ ...message, parts })
    }
  }
  return result
}
