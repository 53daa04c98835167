/** What an external agent offers in the open session: modes, options, and slash commands. */
import { signal } from '@preact/signals'
import type { ExternalAgent } from '../../../lib/schema/external.ts'
import type { Platform } from '../../platform.ts'
import type { SkillCommand } from '../skills/skill-commands.ts'

export type ExternalChoice = {
  /** `mode`, `option:<id>`, or `sign-in`. */
  group: string
  label: string
  value: string
  name: string
  description: string
  current: boolean
}

export const SIGN_IN = 'sign-in'

export const choicesOf = (
  { is_open, mode, options, sign_in }: ExternalAgent,
  modeLabel: string,
  signInLabel: string,
): ExternalChoice[] => [
  ...(is_open ? [] : (sign_in?.methods ?? [])).map(({ id, name, description, command }) => ({
    group: SIGN_IN,
    label: signInLabel,
    value: id,
    name,
    description: command || description,
    current: false,
  })),
  ...(mode?.choices ?? []).map(({ value, name, description }) => ({
    group: 'mode',
    label: modeLabel,
    value,
    name,
    description,
    current: value === mode?.current,
  })),
  ...options.flatMap(({ id, name: label, current, choices }) =>
    choices.map(({ value, name, description }) => ({
      group: `option:${id}`,
      label,
      value,
      name,
      description,
      current: value === current,
    })),
  ),
]

export class ExternalAgentState {
  readonly #platform: Platform
  readonly #offer: (commands: SkillCommand[]) => void
  readonly current = signal<ExternalAgent | null>(null)
  readonly busy = signal(false)
  /** The session shown; replies for another one are dropped. */
  #sessionId = ''

  constructor(platform: Platform, offer: (commands: SkillCommand[]) => void) {
    this.#platform = platform
    this.#offer = offer
  }

  readonly reset = (): void => {
    this.#sessionId = ''
    this.current.value = null
    this.#offer([])
  }

  async load(id: string): Promise<void> {
    if (id !== this.#sessionId) this.current.value = null
    this.#sessionId = id
    this.#applyReply(id, await this.#platform.api('GET /api/session/agent', { session_id: id }))
  }

  open(id: string): Promise<void> {
    return this.#whileBusy(
      id,
      this.#platform.api('POST /api/session/agent/open', { session_id: id }),
    )
  }

  /** The command of a way to sign in; '' if the agent does it itself. */
  commandOf(method: string): string {
    return this.current.value?.sign_in?.methods.find(({ id }) => id === method)?.command ?? ''
  }

  choose(id: string, { group, value }: Pick<ExternalChoice, 'group' | 'value'>): Promise<void> {
    const { api } = this.#platform
    return this.#whileBusy(
      id,
      group === SIGN_IN
        ? api('POST /api/session/agent/sign-in', { session_id: id, method: value })
        : group === 'mode'
          ? api('POST /api/session/agent/mode', { session_id: id, mode: value })
          : api('POST /api/session/agent/option', {
              session_id: id,
              option: group.slice('option:'.length),
              value,
            }),
    )
  }

  #applyReply(id: string, reply: ExternalAgent): void {
    if (id !== this.#sessionId) return
    this.current.value = reply
    this.#offer(
      reply.commands.map(({ name, description, hint }) => ({
        name,
        summary: description,
        argument: hint,
        group: 'agent',
      })),
    )
  }

  async #whileBusy(id: string, work: Promise<ExternalAgent>): Promise<void> {
    this.busy.value = true
    try {
      this.#applyReply(id, await work)
    } finally {
      this.busy.value = false
    }
  }
}
