/** Modes, options and commands of the external agent that serves a session. */
import { setMode, setOption } from '../agent/acp/choices.ts'
import { attachForSettings, toSavedSession } from '../agent/acp/attach-session.ts'
import type { RunningAgent } from '../agent/acp/running-agent.ts'
import type { Session } from '../agent/acp/session.ts'
import { withTimeout } from '../agent/acp/timeout.ts'
import { invalid, UserError } from '../errors.ts'
import { redact } from '../base/redact/redact.ts'
import type { ExternalAgent } from '../schema/external.ts'
import {
  type ExternalAgentTarget,
  callAgent,
  findTarget,
  requireTarget,
} from './context/external-agent-target.ts'
import { externalFor } from './context/external-agent.ts'
import type { Services } from './context/services.ts'

/** A person signs in meanwhile. */
const SIGN_IN_MS = 10 * 60_000

const none: ExternalAgent = {
  agent: null,
  is_open: false,
  sign_in: null,
  mode: null,
  options: [],
  commands: [],
}

const isNotMode = ({ category }: { category?: string | null | undefined }): boolean =>
  category !== 'mode'

const SWITCH = [
  { value: 'on', name: 'On', description: '' },
  { value: 'off', name: 'Off', description: '' },
]

/** Older agents have modes, newer ones an option of the category `mode`. */
const modeOption = (session: Session) => {
  const option = session.modes
    ? undefined
    : session.options.find(({ type, category }) => type === 'select' && category === 'mode')
  return option?.type === 'select' ? option : undefined
}

const modeOf = (session: Session): ExternalAgent['mode'] => {
  const option = modeOption(session)
  const choices = option?.options ?? session.modes?.availableModes
  const current = option?.currentValue ?? session.modes?.currentModeId
  if (!choices || current === undefined) return null
  return {
    current,
    choices: choices.map(choice => ({
      value: 'value' in choice ? choice.value : choice.id,
      name: choice.name,
      description: choice.description ?? '',
    })),
  }
}

const toView = ({ id, name }: { id: string; name: string }, session: Session | null) => ({
  ...none,
  agent: { id, name },
  ...(session && {
    is_open: true,
    mode: modeOf(session),
    // The mode is a separate field, however the agent reports it.
    options: session.options.filter(isNotMode).map(option => ({
      id: option.id,
      name: option.name,
      description: option.description ?? '',
      ...(option.type === 'boolean'
        ? { kind: 'switch' as const, current: option.currentValue ? 'on' : 'off', choices: SWITCH }
        : {
            kind: 'select' as const,
            current: option.currentValue,
            choices: option.options.map(choice => ({
              ...choice,
              description: choice.description ?? '',
            })),
          }),
    })),
    commands: session.commands.map(({ name: command, description, input }) => ({
      name: command,
      description,
      hint: input?.hint ?? '',
    })),
  }),
})

export class ExternalAgentOptions {
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  view(sessionId: string): ExternalAgent {
    const target = findTarget(this.#services, sessionId)
    if (!target) return none
    const signIn = this.#services.external.signIn(target.home.name, target.agent.id)
    return {
      ...toView(target.agent, this.#peek(target)?.session ?? null),
      sign_in: signIn && {
        said: redact(signIn.said),
        methods: signIn.methods.map(method => ({ ...method, command: redact(method.command) })),
      },
    }
  }

  /** Starts the agent and its session, so that its options are available before the first message. */
  async open(sessionId: string): Promise<ExternalAgent> {
    const target = requireTarget(this.#services, sessionId)
    await this.#attach(target).catch((error: unknown) => {
      const isSigningIn = this.#services.external.signIn(target.home.name, target.agent.id)
      // The view says how to sign in.
      if (!(error instanceof UserError) || !isSigningIn) throw error
    })
    return this.view(sessionId)
  }

  /** Has the agent sign in by itself, which may wait for the person in a browser, and opens its session. */
  async signIn(sessionId: string, method: string): Promise<ExternalAgent> {
    const target = requireTarget(this.#services, sessionId)
    const { home, agent } = target
    const offered = this.#services.external.signIn(home.name, agent.id)?.methods
    if (offered?.find(each => each.id === method)?.command !== '')
      throw invalid(`${agent.name} offers no such sign-in: ${method}.`, { code: 'invalid_request' })
    await this.#attach(target, ({ connection }) =>
      withTimeout(
        connection.request('authenticate', { methodId: method }),
        SIGN_IN_MS,
        `The sign-in to ${agent.name} was not finished within ten minutes.`,
      ),
    )
    return this.view(sessionId)
  }

  async setMode(sessionId: string, mode: string): Promise<ExternalAgent> {
    const { running, session, name, target } = this.#requireOpen(sessionId)
    if (!modeOf(session)?.choices.some(({ value }) => value === mode))
      throw invalid(`${name} has no mode "${mode}".`, { code: 'invalid_request' })
    const option = modeOption(session)
    const work = option
      ? setOption(running.connection, session, option.id, mode)
      : setMode(running.connection, session, mode)
    await callAgent(name, work)
    this.#store(target, session)
    return this.view(sessionId)
  }

  async setOption(sessionId: string, id: string, value: string): Promise<ExternalAgent> {
    const { running, session, name, target } = this.#requireOpen(sessionId)
    const option = session.options.find(each => each.id === id)
    const values =
      option?.type === 'boolean' ? ['on', 'off'] : option?.options.map(each => each.value)
    if (!option || !values?.includes(value))
      throw invalid(`${name} has no such choice: ${id} = ${value}.`, { code: 'invalid_request' })
    const setting = option.type === 'boolean' ? value === 'on' : value
    await callAgent(name, setOption(running.connection, session, id, setting))
    this.#store(target, session)
    return this.view(sessionId)
  }

  /** `first`: what happens before its session is opened. */
  #attach(
    { id, row, home, endpoint, agent }: ExternalAgentTarget,
    first?: (running: RunningAgent) => Promise<unknown>,
  ): Promise<void> {
    const { external, sessions } = this.#services
    const side = externalFor({ sessionId: id, home }, sessions)
    const workspace = agent.settings?.cwd ?? (row.workspace || home.dir)
    const work = external.use(endpoint, side, async running => {
      await first?.(running)
      await attachForSettings(running, side, agent, { sessionKey: id, workspace })
    })
    return callAgent(agent.name, work)
  }

  #peek({ endpoint, home, id }: ExternalAgentTarget) {
    return this.#services.external.peek(endpoint, home.name, id)
  }

  #requireOpen(sessionId: string) {
    const target = requireTarget(this.#services, sessionId)
    const { name } = target.agent
    const open = this.#peek(target)
    if (!open)
      throw invalid(`${name} is not running for this session. Open it first.`, {
        code: 'agent_not_running',
        values: { name },
      })
    return { ...open, target, name }
  }

  /** Stores the choices, because the agent loses them when its process ends. */
  #store({ id, home, agent }: ExternalAgentTarget, session: Session): void {
    const side = externalFor({ sessionId: id, home }, this.#services.sessions)
    const last = side.load(agent.id)
    const chosen = toSavedSession(session, { workspace: '' }, { mark: '', cost: 0 })
    const { mode, options } = chosen
    if (last?.owner === id) side.save(agent.id, { ...last, mode, options })
  }
}
