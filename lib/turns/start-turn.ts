/** Creates sessions and starts turns: resolves home, workspace and model. */
import type { ModelEndpoint } from '../agent/types.ts'
import type { Effort } from '../base/efforts.ts'
import { conflict, UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import type { NewMessage } from '../schema/message.ts'
import type { Role } from '../schema/person.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Composed } from '../sessions/drafts.ts'
import type { Imported } from '../sessions/transfer.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { withoutQueued } from '../sessions/queued.ts'
import { streamOfSent } from '../sessions/sent-messages.ts'
import type { Turns } from './turns.ts'
import type { TurnClient, Unattended } from './turn.ts'
import { rolePatch } from './context/role-guards.ts'
import { replacedBy, wordsOf } from './replaced-message.ts'

export type TurnStarterOptions = {
  sessions: Sessions
  turns: Pick<Turns, 'start' | 'requireIdle'>
  homes: Pick<Homes, 'of' | 'open' | 'has'>
  models: {
    default: (home: Home) => string
    /** `changed`: the session's model is not available in this home. */
    compatible: (home: Home, model: string | null) => { model: string; changed: boolean }
    /** Loads what `endpoint` looks up. */
    ready: (home: Home) => Promise<void>
    /** Throws UserError when the model cannot be called. */
    endpoint: (home: Home, model: string, baseUrl?: string) => ModelEndpoint
  }
  workspaces: {
    check: (home: Home, path: string) => string
    /** Undefined for a missing folder, or one that this profile may not use. */
    allowed: (home: Home, path: string | undefined) => string | undefined
    last: (home: Home) => string
    setLast: (home: Home, path: string) => void
  }
}

export type TurnInput = {
  sessionId: string
  /** Of who has it done: its tools may do what this person may. A program is no owner. */
  role: Role
  /** Null for a turn that continues with `results`; empty with `replace`: the text and files of the replaced message again. */
  text: string | null
  /** The id of a visible message: this one takes its place and that of all that follow. */
  replace?: string | undefined
  attachments: string[]
  results?: readonly NewMessage[]
  client?: TurnClient
  /** How long the model thinks in this turn; absent: as configured. */
  effort?: Effort | undefined
  workspace?: string
  model?: string
  /** Its id in the queue; the append that starts the turn removes it. */
  queued?: string
  /** The client's id of the message, stored by the same append. */
  clientMessageId?: string | undefined
  /** A person sent it from a composer: the append that starts the turn clears the draft that it was written in. */
  composed?: Composed | undefined
}

/** An unattended turn in a new session. */
export type UnattendedInput = {
  title: string
  text: string
  /** Blank means the home's default. */
  workspace: string
  model: string
  baseUrl: string
  unattended: Unattended
  /** Additional keys of the session's record. */
  meta: Record<string, unknown>
}

const withEffort = (endpoint: ModelEndpoint | UserError, effort: Effort | undefined) =>
  endpoint instanceof UserError || effort === undefined ? endpoint : { ...endpoint, effort }

type Choice = { workspace?: string | undefined; model?: string | null | undefined }

export type TurnStarter = ReturnType<typeof createTurnStarter>

export const createTurnStarter = ({
  sessions,
  turns,
  homes,
  models,
  workspaces,
}: TurnStarterOptions) => {
  const homeOf = (name: string | undefined) => homes.of(name)
  const endpointOf = (home: Home, model: string, baseUrl?: string): ModelEndpoint | UserError => {
    try {
      return models.endpoint(home, model, baseUrl)
    } catch (error) {
      // The turn fails with this error; rejecting the request would lose the message.
      if (error instanceof UserError) return error
      throw error
    }
  }

  /** An empty string means the default; absent means unchanged. */
  const modelPatch = (model: string | null | undefined) =>
    model === undefined ? {} : { model: model?.trim() || null }

  const profileExists = (profile: string | null | undefined): boolean =>
    !profile || homes.has(profile)

  /** Moves a session of a deleted profile to another profile, and to another workspace if its own is not allowed there. */
  const moveToProfile = (sessionId: string, profile: string): void => {
    const row = sessions.require(sessionId)
    const home = homes.open(profile)
    if (row.profile === home.name) return
    if (profileExists(row.profile))
      throw conflict(`This chat belongs to the profile '${row.profile ?? 'default'}'.`, {
        code: 'session_of_profile',
        values: { profile: row.profile ?? 'default' },
      })
    turns.requireIdle(row.session_id)
    const workspace = workspaces.allowed(home, row.workspace) ?? workspaces.last(home)
    sessions.append(row.session_id, [{ t: 'meta', patch: { profile: home.name, workspace } }])
  }

  /** Nothing may await between the checks in here and `turns.start`, which reserves the session. */
  const startTurn = async (input: TurnInput) => {
    const { sessionId, workspace, model, queued, effort, role, replace: _, ...more } = input
    const row = sessions.require(sessionId)
    turns.requireIdle(row.session_id)
    const replaced = replacedBy(sessions, row.session_id, input)
    const home = homeOf(row.profile)
    const place = workspaces.check(home, workspace ?? row.workspace)
    const asked = modelPatch(model).model ?? (model === undefined ? row.model : null)
    const { model: fitting, changed } = models.compatible(home, asked)
    const patch = {
      ...(place === row.workspace ? {} : { workspace: place }),
      ...(changed ? { model: fitting } : asked === row.model ? {} : { model: asked }),
      ...rolePatch(sessions.head(row.session_id).meta, role),
      ...(queued === undefined ? {} : withoutQueued(sessions.head(row.session_id).meta, queued)),
    }
    const started = await turns.start({
      ...more,
      ...wordsOf(input, replaced),
      sessionId: row.session_id,
      patch,
      endpoint: withEffort(endpointOf(home, fitting), effort),
      replaced,
    })
    // The workspace of a program is not what the user worked in last.
    if (!more.client && profileExists(row.profile)) workspaces.setLast(home, place)
    return { ...started, effectiveModel: changed ? fitting : undefined }
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

    /** Imports an export into a new session of this profile, all messages or none. */
    async importSession(home: Home, { meta, messages }: Imported): Promise<SessionRow> {
      await models.ready(home)
      const model = meta.model ? models.compatible(home, meta.model).model : models.default(home)
      return sessions.adopt(
        null,
        {
          ...meta,
          title: meta.title || 'Imported session',
          workspace: workspaces.allowed(home, meta.workspace) ?? workspaces.last(home),
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
      if (profile !== undefined) moveToProfile(sessionId, profile)
      const row = sessions.require(sessionId)
      const home = homeOf(row.profile)
      const place = workspace === undefined ? {} : { workspace: workspaces.check(home, workspace) }
      const patch = { ...place, ...modelPatch(model) }
      if (Object.keys(patch).length > 0) sessions.append(row.session_id, [{ t: 'meta', patch }])
      if (place.workspace) workspaces.setLast(home, place.workspace)
      return sessions.require(row.session_id)
    },

    /** Starts a turn. `effectiveModel` is set when the session's model was replaced because it is not available. */
    async turn(input: TurnInput) {
      await models.ready(homeOf(sessions.require(input.sessionId).profile))
      return startTurn(input)
    },

    /** As `turn`, or the stream of the turn that this message has started before; an empty text when it was queued. */
    async turnOnce(input: TurnInput & { clientMessageId: string }) {
      await models.ready(homeOf(sessions.require(input.sessionId).profile))
      const { session_id: id } = sessions.require(input.sessionId)
      const repeatOf = streamOfSent(sessions.head(id).meta, input.clientMessageId)
      return repeatOf === undefined ? startTurn(input) : { repeatOf, sessionId: id }
    },

    /** The endpoint for a turn that continues after a restart. An unusable model fails the turn. */
    async endpointToResume(sessionId: string): Promise<ModelEndpoint | UserError> {
      const { profile, model } = sessions.require(sessionId)
      const home = homeOf(profile)
      await models.ready(home)
      return endpointOf(home, models.compatible(home, model).model)
    },

    /** The endpoint of a scheduled task. */
    async unattendedEndpoint(
      home: Home,
      { model, baseUrl }: Pick<UnattendedInput, 'model' | 'baseUrl'>,
    ): Promise<ModelEndpoint | UserError> {
      await models.ready(home)
      return endpointOf(home, model, baseUrl || undefined)
    },

    /** The endpoint of a session's model. Throws UserError when it cannot be called. */
    async endpoint(sessionId: string): Promise<ModelEndpoint> {
      const { profile, model } = sessions.require(sessionId)
      const home = homeOf(profile)
      await models.ready(home)
      return models.endpoint(home, models.compatible(home, model).model)
    },

    /** Throws UserError for a workspace that is not allowed; an unusable model fails the turn instead. */
    async unattended(home: Home, input: UnattendedInput) {
      await models.ready(home)
      const workspace = workspaces.check(home, input.workspace)
      const { session_id: sessionId } = sessions.create({
        ...input.meta,
        title: input.title,
        workspace,
        model: input.model || models.default(home) || null,
        profile: home.name,
        // The title is set; do not generate one.
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
