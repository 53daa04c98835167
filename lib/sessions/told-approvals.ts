/** Whether a chat approves by itself, as the model is told: a line before a message of the user. */
import type { Summary } from './fold.ts'

/** `n`: the line that says how the message was sent. `message`: the number in the id of the message. */
export type ToldApprovals = { n: number; message: number; on: boolean }

const TAG = /^\[Auto-approval: (on|off)\]$/m

/** Null where the message says nothing about it. `before`: what was sent before its text. */
export const toldApprovals = (n: number, id: string, before: string): ToldApprovals | null => {
  const state = TAG.exec(before)?.[1]
  return state === undefined ? null : { n, message: Number(id.slice(1)), on: state === 'on' }
}

/**
 * What to say before the next message: nothing where the model still reads the same, so most chats never carry it. It is said
 * again when what was said last was cut or summarized. In messages and not in the system prompt, and recorded with them: a
 * switch changes nothing that was sent before.
 */
export const approvalsTag = ({ meta, told, clean, cuts, spans }: Summary): string => {
  const on = meta.yolo === true
  const isRead =
    told !== null &&
    clean &&
    cuts.every(([at, after]) => told.n <= after || at <= told.n) &&
    spans.every(({ to }) => to < told.message)
  const last = told !== null && (isRead ? told.on : null)
  return on === last ? '' : `[Auto-approval: ${on ? 'on' : 'off'}]\n`
}
