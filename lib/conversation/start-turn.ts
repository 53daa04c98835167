/** Where sessions and turns come from: which home, workspace and model are meant is decided here, once. */
import type { ModelEndpoint } from '../agent/types.ts'
import { conflict, UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Imported } from '../sessions/transfer.ts'
import type { Sessions } from '../sessions/types.ts'
import { withoutQueued } from '../sessions/queued.ts'
import type { Turns } from '../turns/runner.ts'
import type { Unattended } from '../turns/turn.ts'

export type TurnStarterOptions = {
  sessions: Sessions
  turns: Pick<Turns, 'start' | 'requireIdle'>
  homes: Pick<Homes, 'of' | 'open' | 'has'>
  models: {
    default: (home: Home) => string
    /** `changed`: the session's own model does not fit this home any more. */
    compatible: (home: Home, model: string | null) => { model: string; changed: boolean }
    /** What `endpoint` looks up is at hand afterwards. */
    ready: (home: Home) => Promise<void>
    /** Throws a Refusal with the sentence why it cannot be called. */
    endpoint: (home: Home, model: string, baseUrl?: string) => ModelEndpoint
  }
  workspaces: {
    check: (home: Home, path: string) => string
    last: (home: Home) => string
    setLast: (home: Home, path: string) => void
  }
}

export type TurnInput = {
  sessionId: string
  text: string
  attachments: string[]
  workspace?: string
  model?: string
  /** Its id in the queue, which it leaves with the write that begins the turn. */
  queued?: string
}

/** A turn nobody watches, in a session made for it. */
export type UnattendedInput = {
  title: string
  text: string
  /** Blank means the home's default one. */
  workspace: string
  model: string
  baseUrl: string
  unattended: Unattended
  /** What else the session's record says of where it came from. */
  meta: Record<string, unknown>
}

type Choice = { workspace?: string | undefined; model?: string | null | undefined }

export type TurnStarter = ReturnType<typeof createTurnStarter>

export const createTurnStarter = ({
  sessions,
  turns,
  homes,
  models,
  workspaces,
}: TurnStarterOptions) => {
  const homeOf = homes.of
  const endpointOf = (home: Home, model: string, baseUrl?: string): ModelEndpoint | UserError => {
    try {
      return models.endpoint(home, model, baseUrl)
    } catch (error) {
      // The turn fails with this sentence; refusing the request would lose the message.
      if (error instanceof UserError) return error
      throw error
    }
  }

  /** An empty string means the default; absent means as before. */
  const modelPatch = (model: string | null | undefined) =>
    model === undefined ? {} : { model: model?.trim() || null }

  const isThere = (profile: string | null | undefined): boolean => !profile || homes.has(profile)

  /** Gives a conversation whose profile was deleted to another one; where it may not work there, it moves. */
  const adopt = (sessionId: string, profile: string): void => {
    const row = sessions.require(sessionId)
    const home = homes.open(profile)
    if (row.profile === home.name) return
    if (isThere(row.profile))
      throw conflict(`The conversation belongs to the profile '${row.profile ?? 'default'}'.`)
    turns.requireIdle(row.session_id)
    const workspace = knownPlace(home, row.workspace) ?? workspaces.last(home)
    sessions.append(row.session_id, [{ t: 'meta', patch: { profile: home.name, workspace } }])
  }

  /** Undefined for a folder of another machine, or one this profile may not work in. */
  const knownPlace = (home: Home, path: string | undefined): string | undefined => {
    if (!path) return undefined
    try {
      return workspaces.check(home, path)
    } catch (error) {
      if (error instanceof UserError) return undefined
      throw error
    }
  }

  return {
    create(
      home: Home,
      { workspace, model, profile }: Choice & { profile?: string | null | undefined },
    ): SessionRow {
      const own = profile ? homes.open(profile) : home
      return sessions.create({
        workspace: workspace ? workspaces.check(own, workspace) : workspaces.last(own),
        model: model?.trim() || models.default(own) || null,
        profile: profile ?? home.name,
      })
    },

    /** Messages of an export, in a new session of this profile; all of them or none are kept. */
    async importSession(home: Home, { meta, messages }: Imported): Promise<SessionRow> {
      await models.ready(home)
      const model = meta.model ? models.compatible(home, meta.model).model : models.default(home)
      return sessions.adopt(
        null,
        {
          ...meta,
          title: meta.title || 'Imported session',
          workspace: knownPlace(home, meta.workspace) ?? workspaces.last(home),
          model: model || null,
          profile: home.name,
        },
        messages,
      )
    },

    update(
      sessionId: string,
      { workspace, model, profile }: Choice & { profile?: string | undefined },
    ): SessionRow {
      if (profile !== undefined) adopt(sessionId, profile)
      const row = sessions.require(sessionId)
      const home = homeOf(row.profile)
      const place = workspace === undefined ? {} : { workspace: workspaces.check(home, workspace) }
      const patch = { ...place, ...modelPatch(model) }
      if (Object.keys(patch).length > 0) sessions.append(row.session_id, [{ t: 'meta', patch }])
      if (place.workspace) workspaces.setLast(home, place.workspace)
      return sessions.require(row.session_id)
    },

    /** Starts a turn. `effectiveModel` is set when the session's model was replaced because it does not fit. */
    async turn({ sessionId, text, attachments, workspace, model, queued }: TurnInput) {
      // Before anything is decided: from the next line on nothing waits until the turn has its place.
      await models.ready(homeOf(sessions.require(sessionId).profile))
      const row = sessions.require(sessionId)
      turns.requireIdle(row.session_id)
      const home = homeOf(row.profile)
      const place = workspaces.check(home, workspace ?? row.workspace)
      const asked = modelPatch(model).model ?? (model === undefined ? row.model : null)
      const { model: fitting, changed } = models.compatible(home, asked)
      const patch = {
        ...(place === row.workspace ? {} : { workspace: place }),
        ...(changed ? { model: fitting } : asked === row.model ? {} : { model: asked }),
        ...(queued === undefined ? {} : withoutQueued(sessions.head(row.session_id).meta, queued)),
      }
      const started = await turns.start({
        sessionId: row.session_id,
        text,
        attachments,
        patch,
        endpoint: endpointOf(home, fitting),
      })
      if (isThere(row.profile)) workspaces.setLast(home, place)
      return { ...started, effectiveModel: changed ? fitting : undefined }
    },

    /** The model a session has now; throws the sentence why it cannot be called. */
    async endpoint(sessionId: string): Promise<ModelEndpoint> {
      const { profile, model } = sessions.require(sessionId)
      const home = homeOf(profile)
      await models.ready(home)
      return models.endpoint(home, models.compatible(home, model).model)
    },

    /** Refuses where the workspace may not be worked in; a model that cannot be called fails as a turn. */
    async unattended(home: Home, input: UnattendedInput) {
      await models.ready(home)
      const workspace = workspaces.check(home, input.workspace)
      const { session_id: sessionId } = sessions.create({
        ...input.meta,
        title: input.title,
        workspace,
        model: input.model || models.default(home) || null,
        profile: home.name,
        // It has its name, and no model is asked for another.
        llm_title_generated: true,
      })
      return turns.start({
        sessionId,
        text: input.text,
        attachments: [],
        patch: {},
        endpoint: endpointOf(home, input.model, input.baseUrl || undefined),
        unattended: input.unattended,
      })
    },
  }
}
