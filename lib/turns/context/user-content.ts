/** User messages as the model reads them: a workspace tag, undone file changes, expanded skills, and attached images. Recorded, so that later turns send the same text. */
import type { LoopMessage } from '../../agent/types.ts'
import type { Sent } from '../../sessions/entries.ts'
import type { UndoneChange } from '../../sessions/undone.ts'
import { dayOf } from '../../base/time-zone.ts'
import { visibleName } from '../../base/visible.ts'
import { missingNote } from './missing-files.ts'

export type MessageContext = {
  workspace: string
  /** Milliseconds since 1970: start of the turn, and creation of the session. */
  at: number
  createdAt: number
  zone: unknown
  /** The lines about plan mode and approvals, see `modeTag` and `approvalsTag`; empty where neither was ever used. */
  mode?: () => string
  /** Expands `/skill and words` to the skill's text and the words; returns any other text unchanged. */
  expand: (text: string) => string
  /** File changes that the user undid since the last message. */
  undone?: readonly UndoneChange[]
  /** Files that did not follow to this machine, see `MissingFiles`. */
  missing?: string
}

/** How a message is sent to the model. */
export type SentText = Omit<Sent, 'id'>

const MAX_NAMED_FILES = 20

const fileList = (changes: readonly UndoneChange[]): string => {
  const files = changes.flatMap(({ paths, partial }) =>
    paths.map(path => `${visibleName(path)}${partial ? ' (in part)' : ''}`),
  )
  const unique = [...new Set(files)]
  const more = unique.length - MAX_NAMED_FILES
  const names = unique.slice(0, MAX_NAMED_FILES).join(', ')
  return more > 0 ? `${names}, and ${more} more` : names
}

/**
 * Without it the model takes its own changes for the state of the files. It is part of the text and not of the tags before
 * it, because external agents get no tags.
 */
const undoneNote = (changes: readonly UndoneChange[]): string => {
  const undone = changes.filter(({ redone }) => !redone)
  const redone = changes.filter(each => each.redone)
  const again = 'Read them again before you edit them.'
  return [
    undone.length > 0 ? `[The user undid file changes: ${fileList(undone)}. ${again}]\n` : '',
    redone.length > 0
      ? `[The user restored file changes that were undone before: ${fileList(redone)}. ${again}]\n`
      : '',
  ].join('')
}

/** The additions to a new message. The transcript stores what the user wrote. */
export const annotateMessage = (message: string, context: MessageContext): SentText => {
  const { workspace, at, createdAt, zone, mode, expand, undone = [], missing = '' } = context
  const day = dayOf(at, zone)
  const date = day === dayOf(createdAt, zone) ? '' : `[Date: ${day}]\n`
  const text = missingNote(missing) + undoneNote(undone) + expand(message)
  return {
    before: `[Workspace: ${workspace}]\n${date}${mode?.() ?? ''}`,
    ...(text !== message && { text }),
  }
}

export const modelText = (message: string, { before, text = message }: SentText): string =>
  `${before}${text}`

/** Expands skill calls with the skills' current text. */
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

/** The history as it was sent before. Messages without a record are sent as written. */
export const replaySent = (
  history: LoopMessage[],
  sent: readonly Sent[],
  expand: (text: string) => string,
): LoopMessage[] => {
  const byId = new Map(sent.map(how => [how.id, how]))
  return history.map(message => {
    const { role, content, id = '', summary } = message
    if (summary || typeof content !== 'string') return message
    const how = byId.get(id)
    // A result with the warning that steps run out.
    if (role === 'tool' && how?.text !== undefined) return { ...message, content: how.text }
    if (role !== 'user') return message
    if (how)
      return {
        ...message,
        content: modelText(content, how),
        ...(how.images?.length && { images: how.images }),
      }
    return expandSkills([message], expand)[0] ?? message
  })
}
