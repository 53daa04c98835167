/** Reads the content blocks of a prompt: one text for the model, and images as files. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk'
import { readImageFile } from '../../agent/image-file.ts'
import { MAX_MESSAGE_CHARS } from '../../turns/message-input.ts'
import { invalid } from '../../errors.ts'

export type PromptInput = { text: string; attachments: string[] }

const MAX_IMAGE_BYTES = 10 * 1024 * 1024

/** The path of a `file:` address, else the address. */
const placeOf = (uri: string): string => {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : uri
  } catch {
    // Not a path of this machine.
    return uri
  }
}

const storeImage = (data: string, dir: string): string => {
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length > MAX_IMAGE_BYTES)
    throw invalid('An image of the prompt is larger than 10 MB. Send a smaller copy.')
  const image = readImageFile(bytes)
  if (!image)
    throw invalid('An image of the prompt is not a PNG, JPEG, GIF, or WebP file, or it is damaged.')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, `image-${randomBytes(4).toString('hex')}.${image.ending}`)
  writeFileSync(path, bytes, { mode: 0o600 })
  return path
}

/**
 * Mentions of files are between the words, so text blocks are joined as they are; the text of embedded files follows at
 * the end. Images are written to `dir`. Throws a UserError for what the agent does not accept.
 */
export const readPrompt = (blocks: readonly ContentBlock[], dir: string): PromptInput => {
  const words: string[] = []
  const embedded: string[] = []
  const attachments: string[] = []
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        words.push(block.text)
        break
      case 'image':
        attachments.push(storeImage(block.data, dir))
        break
      case 'resource_link':
        words.push(`[@${block.title ?? block.name}](${placeOf(block.uri)})`)
        break
      case 'resource': {
        const { resource } = block
        const place = placeOf(resource.uri)
        if ('text' in resource) {
          words.push(`[@${place.split('/').at(-1)}](${place})`)
          embedded.push(`<file path=${JSON.stringify(place)}>\n${resource.text}\n</file>`)
        } else if (resource.mimeType?.startsWith('image/'))
          attachments.push(storeImage(resource.blob, dir))
        else throw invalid(`${place} is a binary file. Link to it instead of embedding it.`)
        break
      }
      default:
        throw invalid(`Prompts with content of the type "${block.type}" are not supported.`)
    }
  }
  const text = [words.join('').trim(), ...embedded].filter(part => part !== '').join('\n\n')
  if (text.length > MAX_MESSAGE_CHARS)
    throw invalid(
      `The prompt has ${text.length} characters; at most ${MAX_MESSAGE_CHARS} are possible. Link to files instead of embedding them.`,
    )
  if (text === '' && attachments.length === 0) throw invalid('The prompt is empty.')
  return { text: text === '' ? 'See the attached image.' : text, attachments }
}
