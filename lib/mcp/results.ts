/** Results of MCP servers for a model: images and other binary data are stored, resources become their contents. */
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

/** Stores what a model cannot read as text. Absent functions, and those that fail, leave a note. */
export type ContentStore = {
  /** What the result is from, as the name of its images. */
  name?: string
  image?: ToolContext['keepImage'] | undefined
  file?: ToolContext['keepFile'] | undefined
}

/** Longer data is not decoded: no model takes an image of that size. */
const MAX_BASE64_CHARS = 16 * 1024 * 1024
/** Per result. A request contains no more, and each one that is stored takes time in which nothing else runs. */
const MAX_KEPT = 20

/** Extensions of files whose type does not end in it. */
const ENDINGS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/x-wav': 'wav',
  'image/svg+xml': 'svg',
  'text/plain': 'txt',
  'application/gzip': 'gz',
  'application/octet-stream': 'bin',
}

const endingOf = (mimeType: string): string => {
  const type = mimeType.toLowerCase().replace(/;.*/, '').trim()
  return ENDINGS[type] ?? /^[a-z]+\/([a-z0-9]{1,8})$/.exec(type)?.[1] ?? 'bin'
}

const sizeText = (base64: string): string => `${Math.ceil((base64.length * 3) / 4 / 1_024)} kB`

/** Formats the blocks of one result, and stores their images and files. */
class Formatter {
  readonly #keep: ContentStore
  readonly #images: StoredImage[] = []
  #count = 0

  constructor(keep: ContentStore) {
    this.#keep = keep
  }

  /** `about`: what it is and where it is from. */
  #binary(about: string, mimeType: string, data: string, isImage: boolean): string {
    const { name = '', image: keepImage, file: keepFile } = this.#keep
    const note = `${about}, ${sizeText(data)}`
    let problem = 'it cannot be shown here'
    if (this.#count >= MAX_KEPT || data.length > MAX_BASE64_CHARS) return `[${note}; ${problem}]`
    const bytes = Buffer.from(data, 'base64')
    if (isImage && keepImage) {
      try {
        const image = keepImage(bytes, name)
        this.#count++
        this.#images.push(image)
        return imageLabel(image)
      } catch (error) {
        // A type that models do not take: it becomes a file.
        problem = messageOf(error)
      }
    }
    const path = keepFile?.(bytes, endingOf(mimeType)) ?? null
    if (path === null) return `[${note}; ${problem}]`
    this.#count++
    return `[${note}; stored in ${path}]`
  }

  readonly contents = ({ uri, mimeType = '', text, blob }: z.output<typeof Contents>): string => {
    const about = [uri, mimeType].filter(Boolean).join(', ')
    if (text !== undefined) return `[${about}]\n${text}`
    if (blob === undefined) return `[${about}]`
    return this.#binary(about, mimeType, blob, mimeType.startsWith('image/'))
  }

  readonly block = (value: unknown): string => {
    const parsed = Block.safeParse(value)
    if (!parsed.success) return JSON.stringify(value) ?? ''
    const { data } = parsed
    switch (data.type) {
      case 'text':
        return data.text
      case 'image':
      case 'audio': {
        const { type, mimeType } = data
        return this.#binary(`${type}: ${mimeType}`, mimeType, data.data, type === 'image')
      }
      case 'resource':
        return this.contents(data.resource)
      case 'resource_link':
        return `[${[data.name, data.uri, data.description].filter(Boolean).join(', ')}]`
    }
  }

  /** The result of a tool. */
  result(content: string): ToolResult {
    return { content, ...(this.#images.length > 0 && { images: this.#images }) }
  }
}

const Result = z.looseObject({
  content: z.array(z.unknown()).catch([]),
  structuredContent: z.unknown().optional(),
  isError: z.unknown().optional(),
})

/** The result of a tool call; a failure has the shape of our own tools' failures. */
export const toResult = (value: unknown, keep: ContentStore = {}): ToolResult => {
  const { content, structuredContent, isError } = Result.parse(value)
  const format = new Formatter(keep)
  const joined = content.map(format.block).filter(Boolean).join('\n\n')
  const text = joined || (structuredContent === undefined ? '' : JSON.stringify(structuredContent))
  if (isError === true)
    return { content: JSON.stringify({ error: text || 'The tool failed.' }), isError: true }
  return format.result(text || '(The tool returned nothing.)')
}

const Resource = z.looseObject({ contents: z.array(Contents).catch([]) })
const Prompt = z.looseObject({
  description: z.string().optional().catch(undefined),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown().optional() })).catch([]),
})

export const resourceResult = (value: unknown, keep: ContentStore = {}): ToolResult => {
  const format = new Formatter(keep)
  const text = Resource.parse(value).contents.map(format.contents).join('\n\n')
  return format.result(text || '(The resource is empty.)')
}

export const promptResult = (value: unknown, keep: ContentStore = {}): ToolResult => {
  const format = new Formatter(keep)
  const { description, messages } = Prompt.parse(value)
  const text = messages.map(({ role, content }) => `${role}: ${format.block(content)}`)
  return format.result([...(description ? [description] : []), ...text].join('\n\n'))
}
