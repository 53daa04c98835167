/** Normalizes message content to text and image parts. */
import { asObject, asString } from '../../base/json.ts'
import type { WireMessage } from '../types.ts'

export type ContentPart = { text: string } | { image: string }

/** `image` is a URL or a `data:` URL. Unsupported parts become a note, so that the model knows something is missing. */
export const contentParts = (content: WireMessage['content']): ContentPart[] => {
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ text: content }]
  return content.flatMap((part): ContentPart[] => {
    const text = asString(part.text)
    if (text !== '') return text.trim() === '' ? [] : [{ text }]
    const { image_url } = part
    const image = asString(image_url) || asString(asObject(image_url).url)
    if (image !== '') return [{ image }]
    return part.type === 'text' ? [] : [{ text: `[${part.type}: this model cannot be sent it]` }]
  })
}
