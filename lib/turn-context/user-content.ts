/** What the model reads of the person's messages: the tag of the place, and the text of a skill that was called. Recorded, so that a later turn sends the same. */
import type { LoopMessage } from '../agent/types.ts'
import type { Sent } from '../sessions/entries.ts'
import { dayOf } from '../base/time-zone.ts'

export type MessageContext = {
  workspace: string
  /** Seconds since 1970: the turn's, and when the conversation began. */
  at: number
  createdAt: number
  zone: unknown
  /** `/skill and words` → what the skill says and the words; any other text as it is. */
  expand: (text: string) => string
}

/** How a new message is put. Its transcript keeps what the person wrote. */
export const annotateMessage = (said: string, telling: MessageContext): Omit<Sent, 'id'> => {
  const { workspace, at, createdAt, zone, expand } = telling
  const day = dayOf(at, zone)
  const date = day === dayOf(createdAt, zone) ? '' : `[Date: ${day}]\n`
  const text = expand(said)
  return { before: `[Workspace: ${workspace}]\n${date}`, ...(text !== said && { text }) }
}

export const modelText = (said: string, { before, text = said }: Omit<Sent, 'id'>): string =>
  `${before}${text}`

/** A skill that is called by name, as it reads now. */
export const expandSkills = (
  history: LoopMessage[],
  expand: (text: string) => string,
): LoopMessage[] =>
  history.map(message =>
    message.role === 'user' &&
    typeof message.content === 'string' &&
    message.content.startsWith('/')
      ? { ...message, content: expand(message.content) }
      : message,
  )

/** The history as it was sent before. Messages from before this was recorded are sent as they are. */
export const replaySent = (
  history: LoopMessage[],
  sent: readonly Sent[],
  expand: (text: string) => string,
): LoopMessage[] => {
  const known = new Map(sent.map(how => [how.id, how]))
  return history.map(message => {
    const { role, content, id = '', summary } = message
    if (role !== 'user' || summary || typeof content !== 'string') return message
    const how = known.get(id)
    if (how) return { ...message, content: modelText(content, how) }
    return expandSkills([message], expand)[0] ?? message
  })
}
