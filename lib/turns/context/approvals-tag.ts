/**
 * Whether a chat approves by itself, as the model is told. In messages and not in the system prompt, and recorded with them: a
 * switch changes nothing that was sent before. Only where it differs from what was said last: most chats never carry it.
 */
import type { Meta, Sent } from '../../sessions/entries.ts'

const TAG = /^\[Auto-approval: (on|off)\]$/m

/** `sent`: how the messages were sent that the model still reads. */
export const approvalsTag = ({ yolo }: Meta, sent: () => readonly Sent[]): string => {
  const now = yolo === true ? 'on' : 'off'
  const said = sent().findLast(({ before }) => TAG.test(before))
  const known = said ? TAG.exec(said.before)?.[1] : 'off'
  return now === known ? '' : `[Auto-approval: ${now}]\n`
}
