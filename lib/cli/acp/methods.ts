/** The agent's side of the Agent Client Protocol, version 1: what each method of a client does. */
import { randomUUID } from 'node:crypto'
import type * as acp from '@agentclientprotocol/sdk'
import { z } from 'zod'
import { fromSeconds } from '../../base/clock.ts'
import { invalid, UserError } from '../../errors.ts'
import { isFrom, listRecorded } from '../../sessions/host-db/recorded-list.ts'
import { redact } from '../../base/redact/redact.ts'
import { isEffort } from '../../base/efforts.ts'
import { DEFAULT_EFFORT, isMode, modeState } from './options.ts'
import { createOpenSessions } from './open-sessions.ts'
import { replay } from './replay.ts'
import type { EditorSession, SessionContext } from './session.ts'

/** The supported protocol version. */
const PROTOCOL = 1
/** Sessions per page of a list. */
/** Sources of the sessions that an editor sees. */
const LISTED = ['acp', 'cli'] as const
const PAGE = 50
const SETUP = 'setup'
/** `fork` is not in the stable protocol yet. */
const SESSION_CAPABILITIES = { list: {}, delete: {}, resume: {}, close: {}, fork: {} }

export type MethodsOptions = SessionContext & {
  version: string
  addon: string | undefined
  /** The model of new sessions; null: that of the profile. */
  model: string | null
  setCapabilities: (capabilities: acp.ClientCapabilities) => void
}

/** No model can be called: the client shows `authMethods`. */
export class SetupError extends Error {}

/** Of drafts of the protocol before its configuration options. */
const SetModel = z.object({ sessionId: z.string(), modelId: z.string() })
type SetModel = z.infer<typeof SetModel>
export const toSetModel = (params: unknown): SetModel => SetModel.parse(params)

/** Not in the stable protocol yet. */
const Fork = z.object({
  sessionId: z.string(),
  cwd: z.string(),
  mcpServers: z.custom<acp.McpServer[]>(Array.isArray).optional(),
})
type Fork = z.infer<typeof Fork>
export const toFork = (params: unknown): Fork => Fork.parse(params)

export type Methods = ReturnType<typeof createMethods>

const SETUP_HINT =
  'Run "agent-webui" in a terminal and follow the setup page, or name a model and a key in config.yaml. "agent-webui doctor" says what is missing.'

export const createMethods = (options: MethodsOptions) => {
  const { engine, home, sessions, addon, version, model } = options
  const open = createOpenSessions(options)

  /** Why no model can be called, or null. */
  const modelProblem = async (model: string | null): Promise<UserError | null> => {
    try {
      await engine.models.ready(home)
      const wanted = engine.models.compatible(home, model).model
      const { apiMode } = engine.models.endpoint(home, wanted)
      // Without any setup there is only the scripted model, which must not answer in place of a real one.
      return apiMode === 'demo' && model !== 'demo' ? invalid('No provider is set up yet.') : null
    } catch (error) {
      if (error instanceof UserError) return error
      throw error
    }
  }

  const requireUsable = async (wanted: string): Promise<void> => {
    const problem = await modelProblem(wanted)
    if (problem) throw problem
  }

  /** As `requireUsable`, as an error that tells the client to show the setup. */
  const requireModel = async (model: string | null): Promise<void> => {
    const problem = await modelProblem(model)
    if (problem) throw new SetupError(`${problem.message} ${SETUP_HINT}`)
  }

  /** The end of a response about a session that is now open. */
  const settingsOf = async (session: EditorSession) => {
    const { configOptions, models } = await session.options()
    open.announceCommands(session)
    return { modes: modeState(session.mode), configOptions, models }
  }

  return {
    sessions: open,

    async initialize({
      clientCapabilities,
    }: acp.InitializeRequest): Promise<acp.InitializeResponse> {
      options.setCapabilities(clientCapabilities ?? {})
      const problem = await modelProblem(model)
      return {
        protocolVersion: PROTOCOL,
        agentInfo: { name: 'agent-webui', title: 'Agent Web UI', version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, audio: false, embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
          sessionCapabilities: SESSION_CAPABILITIES,
        },
        authMethods: problem
          ? [
              {
                id: SETUP,
                name: 'Set up a model',
                description: `${redact(problem.message)} ${SETUP_HINT}`,
              },
            ]
          : [],
      }
    },

    /** Nothing is entered through the protocol: it only checks whether the setup is done by now. */
    async authenticate(_: acp.AuthenticateRequest): Promise<acp.AuthenticateResponse> {
      await requireModel(model)
      return {}
    },

    async create(request: acp.NewSessionRequest): Promise<acp.NewSessionResponse> {
      await requireModel(model)
      const session = open.create(request, { id: randomUUID(), model })
      return { sessionId: session.id, ...(await settingsOf(session)) }
    },

    async load(request: acp.LoadSessionRequest): Promise<acp.LoadSessionResponse> {
      const { session, messages } = await open.resume(request)
      const place = { workspace: session.cwd, env: home.env(), forbidden: [] }
      for (const update of replay(messages, place)) session.push(update)
      // The whole history comes before the response.
      await session.sent()
      return settingsOf(session)
    },

    async resume(request: acp.ResumeSessionRequest): Promise<acp.ResumeSessionResponse> {
      return settingsOf((await open.resume(request)).session)
    },

    /** A copy that goes on by itself; the original stays as it is. */
    async fork(request: Fork): Promise<object> {
      const session = await open.fork(request, randomUUID())
      return { sessionId: session.id, ...(await settingsOf(session)) }
    },

    list({ cwd, cursor }: acp.ListSessionsRequest): acp.ListSessionsResponse {
      const from = Number(cursor ?? 0)
      if (!Number.isSafeInteger(from) || from < 0) throw invalid('The cursor is not valid.')
      const all = listRecorded(sessions.file, addon, LISTED).filter(
        entry => entry.cwd !== '' && (cwd == null || entry.cwd === cwd),
      )
      const more = all.length > from + PAGE
      return {
        sessions: all.slice(from, from + PAGE).map(entry => ({
          sessionId: entry.id,
          cwd: entry.cwd,
          title: entry.title === null ? null : redact(entry.title),
          updatedAt: new Date(fromSeconds(entry.updatedAt)).toISOString(),
        })),
        ...(more && { nextCursor: String(from + PAGE) }),
      }
    },

    closeSession({ sessionId }: acp.CloseSessionRequest): acp.CloseSessionResponse {
      open.close(open.require(sessionId))
      return {}
    },

    async remove({ sessionId }: acp.DeleteSessionRequest): Promise<acp.DeleteSessionResponse> {
      const session = open.get(sessionId)
      if (session) open.close(session)
      await sessions.flush()
      // Deleting what does not exist has the same result. A client cannot delete what it does not see in the list.
      if (!isFrom(sessions.file, addon, sessionId, LISTED)) return {}
      await engine.hostSessions.remove(home, sessionId, { permanent: true })
      return {}
    },

    setMode({ sessionId, modeId }: acp.SetSessionModeRequest): acp.SetSessionModeResponse {
      const session = open.require(sessionId)
      if (!isMode(modeId)) throw invalid(`There is no mode "${modeId}".`)
      session.setMode(modeId)
      return {}
    },

    async setOption(
      request: acp.SetSessionConfigOptionRequest,
    ): Promise<acp.SetSessionConfigOptionResponse> {
      const { sessionId, configId } = request
      const session = open.require(sessionId)
      const value = String(request.value)
      if (configId === 'mode' && isMode(value)) {
        session.setMode(value)
        session.push({ sessionUpdate: 'current_mode_update', currentModeId: value })
      } else if (configId === 'effort' && (value === DEFAULT_EFFORT || isEffort(value)))
        session.setEffort(isEffort(value) ? value : null)
      else if (configId === 'model') {
        await requireUsable(value)
        session.setModel(value)
      } else throw invalid(`"${configId}" cannot be set to "${value}".`)
      return { configOptions: (await session.options()).configOptions }
    },

    /** For clients without configuration options. */
    async setModel({ sessionId, modelId }: SetModel): Promise<object> {
      const session = open.require(sessionId)
      await requireUsable(modelId)
      session.setModel(modelId)
      return {}
    },

    prompt: (
      { sessionId, prompt }: acp.PromptRequest,
      signal: AbortSignal,
    ): Promise<acp.PromptResponse> => open.require(sessionId).prompt(prompt, signal),

    cancel: ({ sessionId }: acp.CancelNotification): void => open.get(sessionId)?.cancel(),
  }
}
