/**
 * Tool: has a model answer a question about an image. For models that cannot see images themselves, and for images of the
 * web. Images of messages, files, and tool results are otherwise part of the conversation (`../providers/images.ts`).
 */
import { Refusal } from '../../base/refusal.ts'
import { parseDataUrl } from '../../base/data-url.ts'
import { z } from 'zod'
import { reachesFile, reachesHost } from '../permissions/reach.ts'
import { imageType } from '../image-file.ts'
import { MAX_IMAGE_BYTES as MAX_BYTES, VISION_TOOL } from '../images.ts'
import type { Tool, ToolContext } from '../types.ts'
import { guardRead, mayRead, resolvePath } from './allowed-paths.ts'
import { readImageBytes } from './read-image.ts'

export type VisionStore = {
  /** Throws if no vision model is available. `image` is a `data:` URL. */
  look: (request: { image: string; question: string }, signal: AbortSignal) => Promise<string>
  /** Fetches an image from the public internet. Throws for forbidden URLs; null if fetching is disabled. */
  fetch: ((url: string, maxBytes: number, signal: AbortSignal) => Promise<Buffer>) | null
}

const MAX_MB = MAX_BYTES >> 20

const input = z.object({
  image_url: z
    .string()
    .trim()
    .min(1)
    .describe('A file of the workspace (attached pictures lie there), or an http(s) address.'),
  question: z.string().trim().min(1).describe('What you want to know about the picture.'),
})

const readLocal = async (ctx: ToolContext, path: string): Promise<Buffer> => {
  const fullPath = resolvePath(ctx.turn, path)
  guardRead(ctx.turn, fullPath)
  if (!(await mayRead(ctx, fullPath, 'read')))
    throw new Refusal('user', `The user denied reading ${fullPath}.`)
  return readImageBytes(fullPath)
}

const readData = (url: string): Buffer => {
  const data = parseDataUrl(url)?.data
  if (data === undefined) throw new Error('A data: address must contain a media type and base64.')
  if (data.length > MAX_BYTES * 1.4) throw new Error(`The picture has more than ${MAX_MB} MB.`)
  return Buffer.from(data, 'base64')
}

const LOOK = 'Look at a picture (PNG, JPEG, GIF, WebP) and answer a question about it.'

/** `isForWeb`: the model sees attached images and files itself, so asking another one about them would only lose detail. */
export const visionAnalyzeTool = (
  { look, fetch }: VisionStore,
  isForWeb = false,
): Tool<typeof input> => ({
  name: VISION_TOOL,
  summary: isForWeb
    ? `${LOOK} Use it for pictures on the web. You see attached pictures yourself, and files with read_file.`
    : `${LOOK} Use it for pictures the person has attached, files of the workspace, and pictures on the web.`,
  input,
  kind: 'read',
  preview: ({ image_url }) => (image_url.startsWith('data:') ? 'a picture' : image_url),
  reaches({ image_url: url }, call) {
    if (/^data:/i.test(url)) return []
    if (/^https?:/i.test(url)) return [reachesHost(url)]
    return reachesFile('read', url.replace(/^file:\/\//i, ''), call)
  },
  async run(ctx, { image_url: url, question }) {
    const read = async (): Promise<Buffer> => {
      if (/^data:/i.test(url)) return readData(url)
      if (!/^https?:/i.test(url)) return readLocal(ctx, url.replace(/^file:\/\//i, ''))
      if (!fetch) throw new Error('Pictures of the web are switched off; give a file instead.')
      return fetch(url, MAX_BYTES, ctx.signal)
    }
    const bytes = await read()
    if (bytes.length > MAX_BYTES) throw new Error(`The picture has more than ${MAX_MB} MB.`)
    const type = imageType(bytes)
    if (!type) throw new Error('This is no PNG, JPEG, GIF or WebP picture.')
    const image = `data:${type};base64,${bytes.toString('base64')}`
    const analysis = await look({ image, question }, ctx.signal)
    return { content: JSON.stringify({ success: true, analysis }) }
  },
})
