/** Real images for tests, and a model server that checks every image it gets as the documentation of its format says. */
import { crc32, deflateSync } from 'node:zlib'
import type { Recorded, Step } from './_provider.ts'

type Body = Recorded['body']

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** A PNG of one color. `padding`: bytes of a chunk that viewers skip, for large files. */
export const png = (
  width: number,
  height: number,
  color: readonly [number, number, number] = [200, 40, 40],
  padding = 0,
): Buffer => {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, Buffer.from(color))])
  const rows = Buffer.concat(Array.from({ length: height }, () => row))
  return Buffer.concat([
    Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'),
    chunk('IHDR', header),
    ...(padding > 0 ? [chunk('prVt', Buffer.alloc(padding, 7))] : []),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

export const base64 = (bytes: Buffer): string => bytes.toString('base64')

const DATA_URL_HEAD = /^data:image\/(?:png|jpeg|gif|webp);base64,/

const problem = (text: string): never => {
  throw new Error(text)
}

const dataOf = (url: unknown): string => {
  const head = DATA_URL_HEAD.exec(String(url))?.[0]
  const data = String(url).slice(head?.length)
  // One pattern over megabytes can exhaust the stack of the regular expression engine.
  const isBase64 = data !== '' && !/[^A-Za-z0-9+/]/.test(data.replace(/={1,2}$/, ''))
  return head && isBase64 ? data : problem('Invalid image URL.')
}

const chatImages = ({ messages }: Body): string[] =>
  messages.flatMap((message: Body, at: number) => {
    const { role, content } = message
    const before = messages[at - 1]?.role
    if (role === 'tool' && before !== 'tool' && before !== 'assistant')
      problem("messages with role 'tool' must follow 'tool_calls'")
    if ('images' in message || '_images' in message) problem('Unknown key in message')
    if (!Array.isArray(content)) return []
    return content.flatMap((part: Body) => {
      if (part.type === 'text') return []
      if (part.type !== 'image_url') problem(`Unknown content part ${part.type}`)
      if (role !== 'user') problem(`Image URLs are only allowed for role 'user', not '${role}'`)
      if (Object.keys(part).join() !== 'type,image_url') problem('Unknown key in content part')
      return [dataOf(part.image_url.url)]
    })
  })

const anthropicImages = ({ messages }: Body): string[] => {
  const inBlocks = (blocks: Body, role: string): string[] =>
    Array.isArray(blocks)
      ? blocks.flatMap((block: Body) => {
          if (block.type === 'tool_result') return inBlocks(block.content, role)
          if (block.type !== 'image') return []
          if (role !== 'user') problem('Images are allowed in user messages only')
          if (block.source.type !== 'base64') problem('source.type')
          return [dataOf(`data:${block.source.media_type};base64,${block.source.data}`)]
        })
      : []
  return messages.flatMap(({ role, content }: Body) => inBlocks(content, role))
}

const responsesImages = ({ input }: Body): string[] =>
  input.flatMap((item: Body) => {
    const parts = item.type === 'function_call_output' ? item.output : item.content
    if (!Array.isArray(parts)) return []
    return parts.flatMap((part: Body) => {
      if (part.type !== 'input_image') return []
      if (item.role === 'assistant') problem('Images are allowed in user messages only')
      return [dataOf(part.image_url)]
    })
  })

const ollamaImages = ({ messages }: Body): string[] =>
  messages.flatMap(({ role, content, images = [] }: Body) => {
    if (typeof content !== 'string') problem('content must be a string')
    if (images.length > 0 && role !== 'user') problem('images of role user only')
    return images.map((data: Body) => dataOf(`data:image/png;base64,${data}`))
  })

/** The images of a request as base64, in order. Throws what a strict server would reject. */
export const imagesIn = (body: Body): string[] => {
  if (body.options) return ollamaImages(body)
  if (body.input) return responsesImages(body)
  return body.messages.some(({ content }: Body) =>
    JSON.stringify(content).includes('"type":"tool_result"'),
  ) || body.system
    ? anthropicImages(body)
    : chatImages(body)
}

/** 400 for a request that the format does not allow; null for a valid one. */
export const rejectInvalid = (body: Body): Step | null => {
  try {
    imagesIn(body)
    return null
  } catch (error) {
    return { status: 400, body: { error: { message: String(error) } } }
  }
}
