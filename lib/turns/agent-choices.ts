/** What a person may see and choose of another program's agent in a session: modes, options, commands. */
import type { ExternalAgents } from '../agent/acp/agents.ts'
import { setMode, setOption } from '../agent/acp/choices.ts'
import { joinForChoices } from '../agent/acp/join.ts'
import type { Session } from '../agent/acp/session.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import { invalid, messageOf, Refusal, unavailable } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { ExternalAgent } from '../schema/external.ts'
import type { Sessions } from '../sessions/types.ts'
import { externalOf } from './external.ts'

export type AgentChoicesDeps = {
  external: Pick<ExternalAgents, 'use' | 'peek'>
  sessions: Sessions
  homeOf: (profile: string | null | undefined) => Home
  /** Throws a Refusal where the session's model cannot be called. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
}

const none: ExternalAgent = { agent: null, is_open: false, mode: null, options: [], commands: [] }

const SWITCH = [
  { value: 'on', name: 'On', description: '' },
  { value: 'off', name: 'Off', description: '' },
]

const toView = ({ id, name }: { id: string; name: string }, session: Session | null) => ({
  ...none,
  agent: { id, name },
  ...(session && {
    is_open: true,
    mode: session.modes && {
      current: session.modes.currentModeId,
      choices: session.modes.availableModes.map(mode => ({
        value: mode.id,
        name: mode.name,
        description: mode.description ?? '',
      })),
    },
    options: session.options.map(option => ({
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

export const createAgentChoices = ({
  external,
  sessions,
  homeOf,
  endpointOf,
}: AgentChoicesDeps) => {
  /** Null when the session's model is no agent, or cannot be called at all. */
  const placeOf = (sessionId: string) => {
    const row = sessions.require(sessionId)
    const home = homeOf(row.profile)
    try {
      const endpoint = endpointOf(home, row.model)
      const { agent } = endpoint
      return agent ? { id: row.session_id, row, home, endpoint, agent } : null
    } catch (error) {
      // Its next turn says why.
      if (error instanceof Refusal) return null
      throw error
    }
  }

  const requirePlace = (sessionId: string) => {
    const place = placeOf(sessionId)
    if (!place) throw invalid('The model of this session is no agent of another program.')
    return place
  }

  const peek = (place: NonNullable<ReturnType<typeof placeOf>>) =>
    external.peek(place.endpoint, place.home.name, place.id)

  const view = (sessionId: string): ExternalAgent => {
    const place = placeOf(sessionId)
    return place ? toView(place.agent, peek(place)?.session ?? null) : none
  }

  /** The agent says no, or nothing: its words are the answer. */
  const asked = async <T>(name: string, work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw unavailable(`${name}: ${messageOf(error)}`.slice(0, 500))
    }
  }

  const requireOpen = (sessionId: string) => {
    const place = requirePlace(sessionId)
    const open = peek(place)
    if (!open) throw invalid(`${place.agent.name} is not running for this session. Open it first.`)
    return { ...open, name: place.agent.name }
  }

  return {
    view,
    /** Starts its program and its side of the session, so that there is something to choose from before the first message. */
    async open(sessionId: string): Promise<ExternalAgent> {
      const { id, row, home, endpoint, agent } = requirePlace(sessionId)
      const side = externalOf({ sessionId: id, home }, sessions)
      const workspace = row.workspace || home.dir
      const work = external.use(endpoint, side, running =>
        joinForChoices(running, side, agent, { sessionKey: id, workspace }),
      )
      await asked(agent.name, work)
      return view(sessionId)
    },
    async setMode(sessionId: string, mode: string): Promise<ExternalAgent> {
      const { running, session, name } = requireOpen(sessionId)
      if (!session.modes?.availableModes.some(({ id }) => id === mode))
        throw invalid(`${name} has no mode "${mode}".`)
      await asked(name, setMode(running.connection, session, mode))
      return view(sessionId)
    },
    async setOption(sessionId: string, id: string, value: string): Promise<ExternalAgent> {
      const { running, session, name } = requireOpen(sessionId)
      const option = session.options.find(each => each.id === id)
      const values =
        option?.type === 'boolean' ? ['on', 'off'] : option?.options.map(each => each.value)
      if (!option || !values?.includes(value))
        throw invalid(`${name} has no such choice: ${id} = ${value}.`)
      const given = option.type === 'boolean' ? value === 'on' : value
      await asked(name, setOption(running.connection, session, id, given))
      return view(sessionId)
    },
  }
}
