/** Saves images that an agent sends as files of the session and references them in the transcript. */
import { createHash } from 'node:crypto'
import type { AgentRequest } from '../types.ts'
import { imageType } from '../image-file.ts'
import type { Block, CallContent, CallUpdate } from './updates.ts'

const MAX_BYTES = 10 * 1024 * 1024
/** Per turn, so that one agent can't evict the files of other sessions. */
const MAX_TOTAL_BYTES = 5 * MAX_BYTES

/** The marker that the page renders as an inline file. */
const mediaTag = (path: string): string => `MEDIA:"${path}"`

/** The images of one turn. */
export class Images {
  readonly #save: AgentRequest['saveImage']
  /** By content hash, because agents resend a call's whole content with each update. */
  readonly #saved = new Map<string, string | null>()
  readonly #shownPaths = new Set<string>()
  #bytesLeft = MAX_TOTAL_BYTES

  constructor(save: AgentRequest['saveImage']) {
    this.#save = save
  }

  /** The marker for an image in the answer; null if it can't be shown. */
  inAnswer(block: Block): string | null {
    const path = this.#saveBlock(block, 'answer')
    return path === null ? null : this.#show(path)
  }

  /** The update with each saved image replaced by its marker. */
  inCall(update: CallUpdate): CallUpdate {
    if (!update.content) return update
    const content = update.content.map(part => {
      const path = part.type === 'content' ? this.#saveBlock(part.content, update.toolCallId) : null
      return path === null
        ? part
        : { type: 'content' as const, content: { type: 'text' as const, text: mediaTag(path) } }
    })
    return { ...update, content }
  }

  /** Markers for the images of a finished call, shown below its card, which shows text only. */
  belowCall(content: readonly CallContent[]): string {
    return [...this.#saved.values()]
      .flatMap(path => (path !== null && content.some(part => names(part, path)) ? [path] : []))
      .map(path => this.#show(path))
      .join('')
  }

  /** The saved file's path; null if the block isn't an image, is too large, or couldn't be saved. */
  #saveBlock(block: Block, name: string): string | null {
    if (block.type !== 'image' || !this.#save || block.data.length > (MAX_BYTES / 3) * 4 + 4)
      return null
    const key = createHash('sha256').update(block.data).digest('base64url')
    const savedPath = this.#saved.get(key)
    if (savedPath !== undefined) return savedPath
    const bytes = Buffer.from(block.data, 'base64')
    // The declared type is not trusted.
    const type = bytes.length > Math.min(this.#bytesLeft, MAX_BYTES) ? null : imageType(bytes)
    const path = type === null ? null : this.#save(name, bytes, type.slice('image/'.length))
    if (path !== null) this.#bytesLeft -= bytes.length
    this.#saved.set(key, path)
    return path
  }

  /** Each image is shown once per turn, on its own line. */
  #show(path: string): string {
    if (this.#shownPaths.has(path)) return ''
    this.#shownPaths.add(path)
    return `\n\n${mediaTag(path)}\n\n`
  }
}

const names = (part: CallContent, path: string): boolean =>
  part.type === 'content' && part.content.type === 'text' && part.content.text === mediaTag(path)
