/** Messages a home puts in front of every conversation: `agent.prefill_messages_file`, read at each turn, stored nowhere. */
import { resolve } from 'node:path'
import { z } from 'zod'
import type { WireMessage } from '../agent/types.ts'
import { messageOf } from '../errors.ts'
import { readText } from '../store/read-text.ts'
import type { TurnScope } from './turn-scope.ts'

const MAX_BYTES = 256 * 1024
const Prefill = z
  .array(z.object({ role: z.enum(['user', 'assistant']), content: z.string().min(1) }))
  .max(50)

/** A file that cannot be read or is no list of messages is told in the log; the turn goes on without it. */
export const createPrefill =
  ({ log }: { log: (line: string, extra?: Record<string, unknown>) => void }) =>
  ({ home, config }: Pick<TurnScope, 'home' | 'config'>): WireMessage[] => {
    const { prefill_messages_file: file } = config.agent
    if (file === '') return []
    const path = resolve(home.dir, file)
    try {
      const { text, problem } = readText(path, { maxBytes: MAX_BYTES })
      if (text === null) throw new Error(problem ?? 'it is not there')
      return Prefill.parse(JSON.parse(text))
    } catch (error) {
      log('agent.prefill_messages_file is left out', { error: messageOf(error) })
      return []
    }
  }
