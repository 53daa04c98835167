/** Normalizes message content to text and image parts. */
import { asObject, asString } from '../../base/json.ts'
import type { WireMessage } from '../types.ts'

export type Part = { text: string } | { image: string }

/** `image` is a URL or a `data:` URL. Unsupported parts become a note, so that the model knows something is missing. */
export const partsOf = (content: WireMessage['content']): Part[] => {
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ text: content }]
  return content.flatMap((part): Part[] => {
    const text = asString(part.text)
    if (text !== '') return text.trim() === '' ? [] : [{ text: text }]
    const { image_url } = part
    const image = asString(image_url) || asString(asObject(image_url).url)
    if (image !== '') return [{ image }]
    return part.type === 'text' ? [] : [{ text: `[${part.type}: this model cannot be sent it]` }]
  })
}

/** Parses a base64 `data:` URL; null for other URLs. */
export const readDataUrl = (url: string): { mediaType: string; data: string } | null => {
  const found = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,(.+)$/s.exec(url)
  return found?.[1] && found[2] ? { mediaType: found[1], data: found[2] } : null
}
