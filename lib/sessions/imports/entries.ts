/** Writes the turns of a chat as the lines of a session. Pure. */
import { codeBlock } from '../../base/code-block.ts'
import { withFiles } from '../../base/draft-message.ts'
import type { JournalEntry } from '../entries.ts'
import type { Message, NewMessage, ToolCall } from '../../schema/message.ts'
import { type Block, type ConversationNode, type FileRef, toText } from './conversation.ts'
import type { Turn } from './turns.ts'

/** Its name alone could be that of another file in the workspace. */
const absentFile = (name: string): string => `[File not in the export: ${name}]`

const isImage = (path: string): boolean => /\.(?:png|jpe?g|gif|webp|svg|avif|bmp)$/i.test(path)

/** The lines of the session, and how many versions of messages are among them. */
export const toEntries = (
  turns: readonly Turn[],
  {
    id,
    meta,
    created,
    updated,
    pathOf,
  }: {
    id: string
    meta: Record<string, unknown>
    /** Seconds since 1970: of the session, and of messages that have no time. */
    created: number
    updated: number
    /** The path of a file relative to the workspace, or null and its name is shown only. */
    pathOf: (ref: FileRef) => string | null
  },
): { entries: JournalEntry[]; versions: number } => {
  const entries: JournalEntry[] = [{ n: 1, t: 'session', at: created, v: 1, id, meta }]
  let time = created
  let versions = 0
  const next = () => entries.length + 1
  /** A message time after the session's must not move the session in the list. */
  const now = () => Math.min(time, updated)

  const say = (message: NewMessage): string => {
    const n = next()
    const own = { ...message, id: `m${n}`, timestamp: Math.floor(time) } as Message
    entries.push({ n, t: 'message', at: now(), message: own })
    return own.id
  }

  const ask = (node: ConversationNode): string => {
    time = node.at ?? time
    const files = node.blocks.flatMap(block => (block.type === 'file' ? [block.file] : []))
    const paths = files.flatMap(ref => pathOf(ref) ?? [])
    const absent = files.filter(ref => pathOf(ref) === null).map(({ name }) => absentFile(name))
    const words = [blocksText(node.blocks), ...absent].filter(Boolean).join('\n\n')
    const content = withFiles(words, [...new Set(paths)])
    return say({
      role: 'user',
      content,
      ...(paths.length > 0 && { attachments: [...new Set(paths)] }),
    })
  }

  const answer = (nodes: readonly ConversationNode[]): void => {
    let content: string[] = []
    let thoughts: string[] = []
    let calls: ToolCall[] = []
    let model: string | undefined
    /** Calls without a result. */
    const open: { id: string; ref: string; name: string }[] = []
    const flush = () => {
      if (content.length + thoughts.length + calls.length === 0) return
      say({
        role: 'assistant',
        content: content.join('\n\n'),
        ...(thoughts.length > 0 && { reasoning: thoughts.join('\n\n') }),
        ...(calls.length > 0 && { tool_calls: calls }),
        ...(model !== undefined && { model }),
      })
      content = []
      thoughts = []
      calls = []
    }
    const write = (words: string) => {
      if (calls.length > 0) flush()
      content.push(words)
    }
    const take = (block: Block): void => {
      switch (block.type) {
        case 'text':
          write(block.text)
          return
        case 'reasoning':
          if (content.length + calls.length > 0) flush()
          thoughts.push(block.text)
          return
        case 'file': {
          const { name } = block.file
          const path = pathOf(block.file)
          write(
            path === null
              ? absentFile(name)
              : `${isImage(path) ? '!' : ''}[${path.split('/').at(-1)}](${path})`,
          )
          return
        }
        case 'call': {
          const name = block.name.replace(/[^\w.-]/g, '_').slice(0, 64) || 'tool'
          const own = `call_${next()}_${calls.length + 1}`
          open.push({ id: own, ref: block.id, name })
          const input =
            typeof block.input === 'string' ? block.input : JSON.stringify(block.input ?? {})
          calls.push({ id: own, type: 'function', function: { name, arguments: input } })
          return
        }
        case 'result': {
          const at = open.findLastIndex(({ ref }) => block.id === undefined || ref === block.id)
          const [call] = at < 0 ? [] : open.splice(at, 1)
          if (call) flush()
          else write(codeBlock(block.text))
          if (call)
            say({ role: 'tool', content: block.text, tool_call_id: call.id, name: call.name })
        }
      }
    }
    for (const node of nodes) {
      if (content.length + calls.length > 0) flush()
      time = node.at ?? time
      model = node.model ?? model
      for (const block of node.blocks) take(block)
    }
    flush()
  }

  type Group = { after: number; first?: string; time: number }
  const open: { turn: Turn; group: Group }[] = []
  const follow = (following: readonly Turn[]) => {
    const group: Group = { after: entries.length, time }
    for (const turn of following.toReversed()) open.push({ turn, group })
  }
  follow(turns)
  for (let step = open.pop(); step; step = open.pop()) {
    const { turn, group } = step
    const { first } = group
    if (first !== undefined) {
      time = group.time
      entries.push({ n: next(), t: 'cut', at: now(), after: group.after })
    }
    const messageId = turn.user ? ask(turn.user) : undefined
    const stream_id = `import-${next()}`
    const about = { model: turn.answers.at(-1)?.model ?? '', provider: '' }
    if (first !== undefined && messageId !== undefined) {
      const started = { stream_id, ...about, message_id: messageId, replaces: first }
      entries.push({ n: next(), t: 'turn_started', at: now(), ...started })
      versions += 1
    }
    group.first ??= messageId
    answer(turn.answers)
    // Open turns are taken for interrupted ones.
    if (first !== undefined)
      entries.push({ n: next(), t: 'turn_ended', at: now(), stream_id, how: 'done' })
    follow(turn.next)
  }
  return { entries, versions }
}

const blocksText = (blocks: readonly Block[]): string =>
  blocks
    .flatMap(block =>
      block.type === 'text' || block.type === 'reasoning'
        ? [block.text]
        : block.type === 'result'
          ? [codeBlock(block.text)]
          : block.type === 'call'
            ? [codeBlock(toText(block.input))]
            : [],
    )
    .join('\n\n')
