/** Creates sessions and starts turns: resolves home, workspace and model. */
import type { ModelEndpoint } from '../agent/types.ts'
import type { Effort } from '../base/efforts.ts'
import { conflict, invalid, missing, UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { ModelServices } from '../models/models.ts'
import type { Homes } from '../profiles/homes.ts'
import type { NewMessage } from '../schema/message.ts'
import type { Role } from '../schema/person.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Composed } from '../sessions/drafts.ts'
import type { Imported } from '../sessions/transfer.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { contentText } from '../sessions/entries.ts'
import { withoutQueued } from '../sessions/queued.ts'
import { streamOfSent } from '../sessions/sent-messages.ts'
import type { Replaced } from './turn-journal.ts'
import type { Turns } from './turns.ts'
import type { TurnClient, Unattended } from './turn.ts'
import { rolePatch } from './context/role-guards.ts'

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

type Choice = { workspace?: string | undefined; model?: string | null | undefined }

/** An empty string means the default; absent means unchanged. */
const modelPatch = (model: string | null | undefined) =>
  model === undefined ? {} : { model: model?.trim() || null }

/** A person replaces messages of people, a program also results. Throws a 404 or 400. */
const replacedBy = (
  sessions: Sessions,
  sessionId: string,
  { replace, client }: TurnInput,
): Replaced | undefined => {
  if (replace === undefined) return undefined
  const { messages, numbers } = sessions.load(sessionId)
  const at = messages.findIndex(({ id }) => id === replace)
  const message = messages[at]
  if (!message) throw missing('Message not found', { code: 'message_not_found' })
  // Hooks write in the role of the user.
  if (!client && (message.role !== 'user' || message._hooks))
    throw invalid('Only a message of a person can be replaced.', { code: 'message_not_yours' })
  return { message, after: numbers[at - 1] ?? 0 }
}

/** What is sent: an empty text repeats the replaced message with its files. Throws a 400 when that has none either. */
const sentWords = (
  { text, attachments }: TurnInput,
  replaced: Replaced | undefined,
): { text: string | null; attachments: string[] } => {
  if (text !== '') return { text, attachments }
  const again = replaced ? contentText(replaced.message.content).trim() : ''
  if (!again) throw invalid('message is required', { code: 'missing_fields' })
  return { text: again, attachments: replaced?.message.attachments ?? [] }
}

export class TurnStarter {
  readonly #sessions: Sessions
  readonly #turns: Turns
  readonly #homes: Homes
  readonly #models: ModelServices
  readonly #workspaces: Workspaces

  constructor(
    sessions: Sessions,
    turns: Turns,
    homes: Homes,
    models: ModelServices,
    workspaces: Workspaces,
  ) {
    this.#sessions = sessions
    this.#turns = turns
    this.#homes = homes
    this.#models = models
    this.#workspaces = workspaces
  }

  create(
    home: Home,
    { workspace, model, profile }: Choice & { profile?: string | null | undefined },
  ): SessionRow {
    const own = profile ? this.#homes.open(profile) : home
    return this.#sessions.create({
      workspace: workspace ? this.#workspaces.check(own, workspace) : this.#workspaces.last(own),
      model: model?.trim() || this.#models.default(own) || null,
      profile: profile ?? home.name,
    })
  }

  /** Imports an export into a new session of this profile, all messages or none. */
  async importSession(home: Home, { meta, messages }: Imported): Promise<SessionRow> {
    await this.#models.ready(home)
    const model = meta.model
      ? this.#models.compatible(home, meta.model).model
      : this.#models.default(home)
    return this.#sessions.adopt(
      null,
      {
        ...meta,
        title: meta.title || 'Imported session',
        workspace: this.#workspaces.allowed(home, meta.workspace) ?? this.#workspaces.last(home),
        model: model || null,
        profile: home.name,
      },
      messages,
    )
  }

  update(
    sessionId: string,
    { workspace, model, profile }: Choice & { profile?: string | undefined },
  ): SessionRow {
    if (profile !== undefined) this.#moveToProfile(sessionId, profile)
    const row = this.#sessions.require(sessionId)
    const home = this.#homes.of(row.profile)
    const place =
      workspace === undefined ? {} : { workspace: this.#workspaces.check(home, workspace) }
    const patch = { ...place, ...modelPatch(model) }
    if (Object.keys(patch).length > 0) this.#sessions.append(row.session_id, [{ t: 'meta', patch }])
    if (place.workspace) this.#workspaces.setLast(home, place.workspace)
    return this.#sessions.require(row.session_id)
  }

  /** Starts a turn. `effectiveModel` is set when the session's model was replaced because it is not available. */
  async turn(input: TurnInput) {
    await this.#readyHome(input.sessionId)
    return this.#start(input)
  }

  /** As `turn`, or the stream of the turn that this message has started before; an empty text when it was queued. */
  async turnOnce(input: TurnInput & { clientMessageId: string }) {
    await this.#readyHome(input.sessionId)
    const { session_id: id } = this.#sessions.require(input.sessionId)
    const repeatOf = streamOfSent(this.#sessions.head(id).meta, input.clientMessageId)
    return repeatOf === undefined ? this.#start(input) : { repeatOf, sessionId: id }
  }

  /** Throws UserError for a workspace that is not allowed; an unusable model fails the turn instead. */
  async unattended(home: Home, input: UnattendedInput) {
    const endpoint = await this.unattendedEndpoint(home, input)
    const { session_id: sessionId } = this.#sessions.create({
      ...input.meta,
      title: input.title,
      workspace: this.#workspaces.check(home, input.workspace),
      model: input.model || this.#models.default(home) || null,
      profile: home.name,
      // The title is set; do not generate one.
      llm_title_generated: true,
    })
    const { text, unattended } = input
    return this.#turns.start({ sessionId, text, attachments: [], patch: {}, endpoint, unattended })
  }

  /** The endpoint of a scheduled task. */
  async unattendedEndpoint(
    home: Home,
    { model, baseUrl }: { model: string; baseUrl: string },
  ): Promise<ModelEndpoint | UserError> {
    await this.#models.ready(home)
    return this.#endpointOf(home, model, baseUrl || undefined)
  }

  /** The endpoint for a turn that continues after a restart. An unusable model fails the turn. */
  async endpointToResume(sessionId: string): Promise<ModelEndpoint | UserError> {
    const { home, model } = await this.#readyHome(sessionId)
    return this.#endpointOf(home, this.#models.compatible(home, model).model)
  }

  /** The endpoint of a session's model. Throws UserError when it cannot be called. */
  async endpoint(sessionId: string): Promise<ModelEndpoint> {
    const endpoint = await this.endpointToResume(sessionId)
    if (endpoint instanceof UserError) throw endpoint
    return endpoint
  }

  /** Loads what `endpoint` looks up. */
  async #readyHome(sessionId: string): Promise<{ home: Home; model: string | null }> {
    const { profile, model } = this.#sessions.require(sessionId)
    const home = this.#homes.of(profile)
    await this.#models.ready(home)
    return { home, model }
  }

  #endpointOf(home: Home, model: string, baseUrl?: string): ModelEndpoint | UserError {
    try {
      return this.#models.endpoint(home, model, baseUrl)
    } catch (error) {
      // The turn fails with this error; rejecting the request would lose the message.
      if (error instanceof UserError) return error
      throw error
    }
  }

  #profileExists(profile: string | null | undefined): boolean {
    return !profile || this.#homes.has(profile)
  }

  /** Moves a session of a deleted profile to another profile, and to another workspace if its own is not allowed there. */
  #moveToProfile(sessionId: string, profile: string): void {
    const row = this.#sessions.require(sessionId)
    const home = this.#homes.open(profile)
    if (row.profile === home.name) return
    if (this.#profileExists(row.profile))
      throw conflict(`This chat belongs to the profile '${row.profile ?? 'default'}'.`, {
        code: 'session_of_profile',
        values: { profile: row.profile ?? 'default' },
      })
    this.#turns.requireIdle(row.session_id)
    const workspace = this.#workspaces.allowed(home, row.workspace) ?? this.#workspaces.last(home)
    const patch = { profile: home.name, workspace }
    this.#sessions.append(row.session_id, [{ t: 'meta', patch }])
  }

  /** Nothing may await between the checks in here and `turns.start`, which reserves the session. */
  async #start(input: TurnInput) {
    const { sessionId, workspace, model, queued, effort, role, replace: _, ...more } = input
    const row = this.#sessions.require(sessionId)
    this.#turns.requireIdle(row.session_id)
    const replaced = replacedBy(this.#sessions, row.session_id, input)
    const home = this.#homes.of(row.profile)
    const place = this.#workspaces.check(home, workspace ?? row.workspace)
    const choice = model === undefined ? row.model : model.trim() || null
    const { model: fitting, changed } = this.#models.compatible(home, choice)
    const { meta } = this.#sessions.head(row.session_id)
    const patch = {
      ...(place !== row.workspace && { workspace: place }),
      ...(changed ? { model: fitting } : choice !== row.model && { model: choice }),
      ...rolePatch(meta, role),
      ...(queued !== undefined && withoutQueued(meta, queued)),
    }
    const endpoint = this.#endpointOf(home, fitting)
    const started = await this.#turns.start({
      ...more,
      ...sentWords(input, replaced),
      sessionId: row.session_id,
      patch,
      endpoint:
        endpoint instanceof UserError || effort === undefined ? endpoint : { ...endpoint, effort },
      replaced,
    })
    // The workspace of a program is not what the user worked in last.
    if (!more.client && this.#profileExists(row.profile)) this.#workspaces.setLast(home, place)
    return { ...started, effectiveModel: changed ? fitting : undefined }
  }
}
