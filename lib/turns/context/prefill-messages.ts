/** Messages before the conversation, from `agent.prefill_messages_file`. Read on each turn, never stored. */
import { resolve } from 'node:path'
import { z } from 'zod'
import type { WireMessage } from '../../agent/types.ts'
import { messageOf } from '../../errors.ts'
import { readText } from '../../store/read-text.ts'
import type { TurnScope } from './turn-scope.ts'

const MAX_BYTES = 256 * 1024
const Prefill = z
  .array(z.object({ role: z.enum(['user', 'assistant']), content: z.string().min(1) }))
  .max(50)

/** An unreadable or malformed file is logged and skipped. */
export const prefillMessages = (
  { home, config }: TurnScope,
  log: (line: string, extra?: Record<string, unknown>) => void,
): WireMessage[] => {
  const { prefill_messages_file: file } = config.agent
  if (file === '') return []
  try {
    const { text, problem } = readText(resolve(home.dir, file), { maxBytes: MAX_BYTES })
    if (text === null) throw new Error(`${problem ?? 'it is not there'}`)
    return Prefill.parse(JSON.parse(text))
  } catch (error) {
    log('skipping agent.prefill_messages_file', { error: messageOf(error) })
    return []
  }
}
