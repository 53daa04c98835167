/** State of an agent's session, and how its updates change it. */
import type { Words } from '../../base/sentences.ts'
import type { Clock } from '../../base/clock.ts'
import type { TokenCounts } from '../external-agent.ts'
import type { AgentRequest } from '../types.ts'
import type { AgentHooks } from './hooks.ts'
import { Terminals } from './terminals.ts'
import type { Transcript } from './transcript.ts'
import {
  type Block,
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

/** Receives the history while the agent replays it. */
export type ReplayReader = {
  /** A part of a user message; older agents send no message id. */
  user(block: Block, messageId: string): void
  /** The transcript of the messages that follow it. */
  transcript(): Transcript | undefined
}

export class Session {
  id: string
  readonly aliases = new Set<string>()
  modes: Modes | null = null
  options: ConfigOption[] = []
  models: z.infer<typeof LegacyModels> | null = null
  /** The mode to return to when plan mode ends; null: it was not changed. */
  modeBeforePlan: string | null = null
  commands: Command[] = []
  usage: { used: number; size: number; cost: number | null } | null = null
  /** The last total of tokens that it reported. */
  reported: { last: TokenCounts } | null = null
  /** Called when the agent names the session. */
  onTitle: ((title: string) => void) | null = null
  /** Names of the MCP servers that it was opened with; empty until a turn has begun in it. */
  servers = ''
  /** Sentences that the next turn shows. */
  remarks: string[] = []
  /** The notice about withheld servers that was given last. */
  notice = ''
  /** Reserved for a turn that is starting. */
  isOpening = false
  /** Last use, in milliseconds of the monotonic clock. */
  usedAt: number
  readonly terminals = new Terminals()
  turn: ActiveTurn | null = null
  replay: ReplayReader | null = null
  /** Settles when the last prompt is answered. */
  busy: Promise<unknown> = Promise.resolve()

  constructor(id: string, clock: Clock) {
    this.id = id
    this.usedAt = clock.monotonic()
  }

  /** Applies the modes and options of a response. */
  applyOpened({ modes, configOptions, models }: OpenedSession): void {
    if (modes) this.modes = modes
    if (configOptions) this.options = configOptions
    if (models) this.models = models
  }

  /** Applies an update; outside a turn only to the session's settings. False if it couldn't be parsed; unknown kinds are ignored. */
  applyUpdate(value: unknown): boolean {
    const parsed = Update.safeParse(value)
    if (!parsed.success) return isUnknownUpdate(value)
    const update = parsed.data
    const transcript = () => this.turn?.transcript ?? this.replay?.transcript()
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
        // In a turn it only echoes the prompt.
        if (update.content && !this.turn) this.replay?.user(update.content, update.messageId ?? '')
        break
      case 'agent_message_chunk':
        transcript()?.text(update.content)
        if (this.turn && update._meta?.usage) {
          const counts = countsOf(update._meta.usage)
          const { calls } = this.turn
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
        this.commands = update.availableCommands
        break
      case 'current_mode_update':
        if (this.modes) this.modes = { ...this.modes, currentModeId: update.currentModeId }
        break
      case 'session_info_update':
        if (update.title) this.onTitle?.(update.title)
        break
      case 'config_option_update':
        this.options = update.configOptions
        break
      case 'usage_update': {
        const { used, size, cost } = update
        const isDollars = cost?.currency.toUpperCase() === 'USD'
        this.usage = { used, size, cost: isDollars ? cost.amount : null }
        break
      }
      case 'notice':
        if (update.severity !== 'info')
          this.turn?.notice([update.title, update.description].filter(Boolean).join(': '))
        break
    }
    return true
  }
}
