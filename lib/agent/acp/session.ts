/** State of an agent's session, and how its updates change it. */
import type { Words } from '../../base/sentences.ts'
import type { Clock } from '../../base/clock.ts'
import type { ReportedUsage, TokenCounts } from '../external-agent.ts'
import type { AgentRequest } from '../types.ts'
import type { AgentHooks } from './hooks.ts'
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
import { addCounts, countsOf } from './usage.ts'
import type { z } from 'zod'

/** The turn whose prompt is running. */
export type ActiveTurn = {
  request: AgentRequest
  transcript: Transcript
  warn: (message: Words) => void
  /** Shows what the agent says beside its answer; what it repeats with each turn is shown once. */
  notice: (message: string) => void
  /** Commands approved in this turn. */
  allowed: Set<string>
  hooks: AgentHooks
  /** Resets the silence timer; `whileServing` also suspends it during a request of the agent. */
  noteActivity: () => void
  whileServing: <T>(work: Promise<T>) => Promise<T>
  /** Tokens of its model calls, where the agent reports them one by one. */
  calls: { spent: TokenCounts; lastInput: number }
}

export type Session = {
  id: string
  aliases: Set<string>
  modes: Modes | null
  options: ConfigOption[]
  models: z.infer<typeof LegacyModels> | null
  /** The mode to return to when plan mode ends; null: it was not changed. */
  modeBeforePlan: string | null
  commands: Command[]
  usage: { used: number; size: number; cost: number | null } | null
  /** The tokens it has reported. */
  reported: ReportedUsage | null
  /** It was loaded again since that report. */
  isReopened: boolean
  /** Called when the agent names the session. */
  onTitle: ((title: string) => void) | null
  /** Names of the MCP servers that it was opened with; empty until a turn has begun in it. */
  servers: string
  /** Sentences that the next turn shows. */
  remarks: string[]
  /** The notice about withheld servers that was given last. */
  notice: string
  /** Reserved for a turn that is starting. */
  isOpening: boolean
  /** Last use, in milliseconds of the monotonic clock. */
  usedAt: number
  terminals: Terminals
  turn: ActiveTurn | null
  /** Receives the history while the agent replays it. */
  replay: Pick<Replay, 'user' | 'transcript'> | null
  /** Settles when the last prompt is answered. */
  busy: Promise<unknown>
}

export const createSession = (id: string, clock: Pick<Clock, 'monotonic'>): Session => ({
  id,
  aliases: new Set(),
  modes: null,
  options: [],
  models: null,
  modeBeforePlan: null,
  commands: [],
  usage: null,
  reported: null,
  isReopened: false,
  onTitle: null,
  servers: '',
  remarks: [],
  notice: '',
  isOpening: false,
  usedAt: clock.monotonic(),
  terminals: createTerminals(),
  turn: null,
  replay: null,
  busy: Promise.resolve(),
})

/** Applies the modes and options of a response. */
export const applyOpened = (
  session: Session,
  { modes, configOptions, models }: OpenedSession,
): void => {
  if (modes) session.modes = modes
  if (configOptions) session.options = configOptions
  if (models) session.models = models
}

/** Applies an update; outside a turn only to the session's settings. False if it couldn't be parsed; unknown kinds are ignored. */
export const applyUpdate = (session: Session, value: unknown): boolean => {
  const parsed = Update.safeParse(value)
  if (!parsed.success) return isUnknownUpdate(value)
  const update = parsed.data
  const transcript = () => session.turn?.transcript ?? session.replay?.transcript()
  switch (update.sessionUpdate) {
    case 'user_message_chunk':
      // In a turn it only echoes the prompt.
      if (update.content && !session.turn)
        session.replay?.user(update.content, update.messageId ?? '')
      break
    case 'agent_message_chunk':
      transcript()?.text(update.content)
      if (session.turn && update._meta?.usage) {
        const counts = countsOf(update._meta.usage)
        const { calls } = session.turn
        calls.spent = addCounts(calls.spent, counts)
        calls.lastInput = counts.input
      }
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
        session.turn?.notice([update.title, update.description].filter(Boolean).join(': '))
      break
  }
  return true
}
