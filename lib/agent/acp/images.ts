/** Pictures an agent shows: kept as files of the session and named in the transcript, where the page draws them. */
import { createHash } from 'node:crypto'
import type { AgentRequest } from '../types.ts'
import { imageType } from '../tools/vision-analyze.ts'
import type { Block, CallContent, CallUpdate } from './updates.ts'

const MAX_BYTES = 10 * 1024 * 1024
/** Of one turn: an agent that paints without end must not push out what other sessions keep. */
const MAX_TOTAL_BYTES = 5 * MAX_BYTES

/** How a page is told to draw a file in place. */
const mediaTag = (path: string): string => `MEDIA:"${path}"`

export const createImages = (save: AgentRequest['saveImage']) => {
  /** By what is in them: an agent repeats a call's whole content with each word about it. */
  const saved = new Map<string, string | null>()
  const shown = new Set<string>()
  let bytesLeft = MAX_TOTAL_BYTES

  /** Where it stands; null for what is no picture, too large or could not be kept. */
  const saveBlock = (block: Block, name: string): string | null => {
    if (block.type !== 'image' || !save || block.data.length > (MAX_BYTES / 3) * 4 + 4) return null
    const key = createHash('sha256').update(block.data).digest('base64url')
    const known = saved.get(key)
    if (known !== undefined) return known
    const bytes = Buffer.from(block.data, 'base64')
    // What it is said to be does not count.
    const type = bytes.length > Math.min(bytesLeft, MAX_BYTES) ? null : imageType(bytes)
    const path = type === null ? null : save(name, bytes, type.slice('image/'.length))
    if (path !== null) bytesLeft -= bytes.length
    saved.set(key, path)
    return path
  }

  /** Each picture is drawn once a turn, on a line of its own. */
  const show = (path: string): string => {
    if (shown.has(path)) return ''
    shown.add(path)
    return `\n\n${mediaTag(path)}\n\n`
  }

  return {
    /** What stands in the answer for a picture; null where it cannot be shown. */
    inAnswer(block: Block): string | null {
      const path = saveBlock(block, 'answer')
      return path === null ? null : show(path)
    },
    /** The call with each picture that could be kept in the words that name it. */
    inCall(update: CallUpdate): CallUpdate {
      if (!update.content) return update
      const content = update.content.map(part => {
        const path = part.type === 'content' ? saveBlock(part.content, update.toolCallId) : null
        return path === null
          ? part
          : { type: 'content' as const, content: { type: 'text' as const, text: mediaTag(path) } }
      })
      return { ...update, content }
    },
    /** Pictures of a call that is over: a card shows text, so they are drawn below it. */
    belowCall: (content: readonly CallContent[]): string =>
      [...saved.values()]
        .flatMap(path => (path !== null && content.some(part => names(part, path)) ? [path] : []))
        .map(show)
        .join(''),
  }
}

const names = (part: CallContent, path: string): boolean =>
  part.type === 'content' && part.content.type === 'text' && part.content.text === mediaTag(path)
