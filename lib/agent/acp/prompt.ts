/** Converts a user message to ACP prompt blocks: missed history first, then text and images. */
import { sentence } from '../../base/sentences.ts'
import type { Words } from '../../base/sentences.ts'
import { parseDataUrl } from '../../base/data-url.ts'
import { isObject } from '../../base/json.ts'
import type { LoopMessage } from '../types.ts'
import type { InitializeResponse } from './updates.ts'

/** Removes the workspace line from user messages: the agent knows its directory, and a slash command must come first. */
export const stripWorkspacePrefix = (
  history: readonly LoopMessage[],
  workspace: string,
): LoopMessage[] => {
  const prefix = `[Workspace: ${workspace}]\n`
  return history.map(message =>
    message.role === 'user' &&
    typeof message.content === 'string' &&
    message.content.startsWith(prefix)
      ? { ...message, content: message.content.slice(prefix.length) }
      : message,
  )
}

/** Whether the message is one of the agent's slash commands. */
export const isSlashCommand = (
  message: LoopMessage | undefined,
  commands: readonly { name: string }[],
): boolean => {
  const text = typeof message?.content === 'string' ? message.content : ''
  // The agent may not have sent its commands yet.
  if (commands.length === 0) return /^\/[a-z][\w:-]*(?:\s|$)/i.test(text)
  return commands.some(({ name }) => text === `/${name}` || text.startsWith(`/${name} `))
}

export type PromptImage = { data: string; mimeType: string }

type PromptBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }

export const toPromptBlocks = (
  message: LoopMessage | undefined,
  context: string,
  capabilities: InitializeResponse,
  images: readonly PromptImage[],
  warn: (message: Words) => void,
): PromptBlock[] => {
  const before: PromptBlock[] = context === '' ? [] : [{ type: 'text', text: `${context}\n\n` }]
  const content = message?.content ?? ''
  if (typeof content === 'string') {
    const isSeen = capabilities.agentCapabilities.promptCapabilities.image
    if (!isSeen && images.length > 0) warn(sentence('turn.agent_image_path'))
    const pictures = isSeen ? images.map(picture => ({ type: 'image' as const, ...picture })) : []
    return [...before, { type: 'text', text: content }, ...pictures]
  }
  const blocks = content.flatMap((part): PromptBlock[] => {
    if (typeof part.text === 'string') return [{ type: 'text', text: part.text }]
    const url = imageUrl(part.image_url)
    const image = parseDataUrl(url)
    if (!image) return []
    if (capabilities.agentCapabilities.promptCapabilities.image)
      return [{ type: 'image', data: image.data, mimeType: image.mediaType }]
    warn(sentence('turn.agent_no_images'))
    return []
  })
  return [...before, ...blocks]
}

const imageUrl = (value: unknown): string => {
  if (typeof value === 'string') return value
  return isObject(value) && 'url' in value ? String(value.url) : ''
}
