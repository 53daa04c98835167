/** One session as the agent knows it: what it offers there, and what its news change. */
import type { AgentRequest } from '../types.ts'
import { createTerminals, type Terminals } from './terminals.ts'
import type { Replay } from './replay.ts'
import type { Transcript } from './transcript.ts'
import {
  isUnknownUpdate,
  type Command,
  type ConfigOption,
  type LegacyModels,
  type Modes,
  type OpenedSession,
  Update,
} from './updates.ts'
import type { z } from 'zod'

/** Whoever listens while a prompt runs. */
export type ActiveTurn = {
  request: AgentRequest
  transcript: Transcript
  warn: (message: string) => void
  /** Commands the person has said yes to in this turn. */
  allowed: Set<string>
  /** Something was heard, or a request of the agent's is being served: it is not hanging. */
  noteActivity: () => void
  whileServing: <T>(work: Promise<T>) => Promise<T>
}

export type Session = {
  id: string
  aliases: Set<string>
  modes: Modes | null
  options: ConfigOption[]
  models: z.infer<typeof LegacyModels> | null
  commands: Command[]
  usage: { used: number; size: number; cost: number | null } | null
  /** It has named itself. */
  onTitle: ((title: string) => void) | null
  /** It is about to be used. */
  isOpening: boolean
  /** When it was used last, in milliseconds of a clock that never goes back. */
  usedAt: number
  terminals: Terminals
  turn: ActiveTurn | null
  /** Listens while the agent tells again what was said before. */
  replay: Pick<Replay, 'user' | 'transcript'> | null
  /** Settles when the last prompt has been answered. */
  busy: Promise<unknown>
}

export const createSession = (id: string): Session => ({
  id,
  aliases: new Set(),
  modes: null,
  options: [],
  models: null,
  commands: [],
  usage: null,
  onTitle: null,
  isOpening: false,
  usedAt: performance.now(),
  terminals: createTerminals(),
  turn: null,
  replay: null,
  busy: Promise.resolve(),
})

/** What an answer says of modes and options. */
export const applyOpened = (
  session: Session,
  { modes, configOptions, models }: OpenedSession,
): void => {
  if (modes) session.modes = modes
  if (configOptions) session.options = configOptions
  if (models) session.models = models
}

/** What is said outside of a turn changes only what the session offers. False when it could not be read; what we have no use for is read. */
export const applyUpdate = (session: Session, value: unknown): boolean => {
  const parsed = Update.safeParse(value)
  if (!parsed.success) return isUnknownUpdate(value)
  const update = parsed.data
  const transcript = () => session.turn?.transcript ?? session.replay?.transcript()
  switch (update.sessionUpdate) {
    case 'user_message_chunk':
      // In a turn it only repeats what we sent.
      if (update.content && !session.turn)
        session.replay?.user(update.content, update.messageId ?? '')
      break
    case 'agent_message_chunk':
      transcript()?.text(update.content)
      break
    case 'agent_thought_chunk':
      transcript()?.thought(update.content)
      break
    case 'tool_call':
    case 'tool_call_update':
      transcript()?.call(update)
      break
    case 'plan':
      transcript()?.plan(update.entries)
      break
    case 'available_commands_update':
      session.commands = update.availableCommands
      break
    case 'current_mode_update':
      if (session.modes) session.modes = { ...session.modes, currentModeId: update.currentModeId }
      break
    case 'session_info_update':
      if (update.title) session.onTitle?.(update.title)
      break
    case 'config_option_update':
      session.options = update.configOptions
      break
    case 'usage_update': {
      const { used, size, cost } = update
      const isDollars = cost?.currency.toUpperCase() === 'USD'
      session.usage = { used, size, cost: isDollars ? cost.amount : null }
      break
    }
    case 'notice':
      if (update.severity !== 'info')
        session.turn?.warn([update.title, update.description].filter(Boolean).join(': '))
      break
  }
  return true
}
