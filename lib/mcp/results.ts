/** Results of MCP servers for a model: images are stored, audio becomes a note, resources their contents. */
import { z } from 'zod'
import type { ToolContext, ToolResult } from '../agent/types.ts'
import { messageOf } from '../errors.ts'
import { imageLabel, type StoredImage } from '../schema/image.ts'

const Text = z.looseObject({ type: z.literal('text'), text: z.string() })
const Media = z.looseObject({
  type: z.enum(['image', 'audio']),
  data: z.string(),
  mimeType: z.string().catch('unknown type'),
})
const Contents = z.looseObject({
  uri: z.string().catch(''),
  mimeType: z.string().optional().catch(undefined),
  text: z.string().optional().catch(undefined),
  blob: z.string().optional().catch(undefined),
})
const Embedded = z.looseObject({ type: z.literal('resource'), resource: Contents })
const Link = z.looseObject({
  type: z.literal('resource_link'),
  uri: z.string(),
  name: z.string().catch(''),
  description: z.string().optional().catch(undefined),
})
const Block = z.union([Text, Media, Embedded, Link])

const bytesOf = (base64: string): string => `${Math.ceil((base64.length * 3) / 4 / 1_024)} kB`

const contentsText = ({ uri, mimeType, text, blob }: z.output<typeof Contents>): string => {
  const head = `[${[uri, mimeType].filter(Boolean).join(', ')}]`
  if (text !== undefined) return `${head}\n${text}`
  return blob === undefined ? head : `${head} (${bytesOf(blob)} that are no text)`
}

const blockText = (value: unknown): string => {
  const parsed = Block.safeParse(value)
  if (!parsed.success) return JSON.stringify(value) ?? ''
  const block = parsed.data
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return `[${block.type}: ${block.mimeType}, ${bytesOf(block.data)}; it cannot be shown here]`
    case 'resource':
      return contentsText(block.resource)
    case 'resource_link':
      return `[${[block.name, block.uri, block.description].filter(Boolean).join(', ')}]`
  }
}

/** The base64 data of an image; null for any other block. */
const imageData = (value: unknown): string | null => {
  const parsed = Block.safeParse(value)
  if (!parsed.success) return null
  const block = parsed.data
  if (block.type === 'image') return block.data
  const isImage = block.type === 'resource' && block.resource.mimeType?.startsWith('image/')
  return (isImage && block.resource.blob) || null
}

/** Longer data is not decoded: no model takes an image of that size. */
const MAX_IMAGE_CHARS = 16 * 1024 * 1024
/** Per result. A request contains no more, and each one that is stored takes time in which nothing else runs. */
const MAX_IMAGES = 20

const Result = z.looseObject({
  content: z.array(z.unknown()).catch([]),
  structuredContent: z.unknown().optional(),
  isError: z.unknown().optional(),
})

/**
 * The result of a tool call; a failure has the shape of our own tools' failures. `keepImage` stores an image of the result
 * under the name; without it, or when it throws, the image becomes a note.
 */
export const toResult = (
  value: unknown,
  name = '',
  keepImage?: ToolContext['keepImage'],
): ToolResult => {
  const { content, structuredContent, isError } = Result.parse(value)
  const images: StoredImage[] = []
  const textOf = (block: unknown): string => {
    const data = keepImage ? imageData(block) : null
    const isTooMuch = images.length >= MAX_IMAGES || (data?.length ?? 0) > MAX_IMAGE_CHARS
    if (!keepImage || data === null || isTooMuch) return blockText(block)
    try {
      const image = keepImage(Buffer.from(data, 'base64'), name)
      images.push(image)
      return imageLabel(image)
    } catch (error) {
      return `${blockText(block)} (${messageOf(error)})`
    }
  }
  const joined = content.map(textOf).filter(Boolean).join('\n\n')
  const text = joined || (structuredContent === undefined ? '' : JSON.stringify(structuredContent))
  if (isError === true)
    return { content: JSON.stringify({ error: text || 'The tool failed.' }), isError: true }
  const shown = images.length > 0 ? { images } : {}
  return { content: text || '(The tool returned nothing.)', ...shown }
}

const Resource = z.looseObject({ contents: z.array(Contents).catch([]) })
const Prompt = z.looseObject({
  description: z.string().optional().catch(undefined),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown().optional() })).catch([]),
})

export const resourceText = (value: unknown): string =>
  Resource.parse(value).contents.map(contentsText).join('\n\n') || '(The resource is empty.)'

export const promptText = (value: unknown): string => {
  const { description, messages } = Prompt.parse(value)
  const text = messages.map(({ role, content }) => `${role}: ${blockText(content)}`)
  return [...(description ? [description] : []), ...text].join('\n\n')
}
