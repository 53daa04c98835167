/**
 * What the input of a request names: sessions, streams, profiles, and workspaces. A person gets the reply that things which
 * do not exist would get for everything of a profile that they were not given.
 */
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { forbidden, missing } from '../errors.ts'
import type { AnyEndpoint } from '../http/endpoint.ts'
import type { BaseCtx } from '../http/request-context.ts'
import type { Home } from '../profiles/home.ts'
import type { Access } from '../schema/person.ts'
import { isInside } from '../store/path-within.ts'
import type { App } from './app.ts'
import { controlGuard, type ControlGuard } from '../turns/context/control-guard.ts'

type Naming = BaseCtx & {
  app: App
  home: Home
  may: (access: Access, profile: string | null) => boolean
}

/**
 * Fields of inputs that name something of a profile. Endpoints check other names themselves; `test/contract.test.ts` lists
 * all fields of endpoints for members and viewers.
 */
export const NAMING_FIELDS = ['session_id', 'stream_id', 'profile', 'workspace'] as const

/** The profiles of a session, which may be in the trash or a session of the host agent. Empty: unknown. */
const profilesOf = ({ app, home }: Naming, id: string): string[] => {
  const row = app.sessions.row(id)
  if (row) return [row.profile]
  const trashed = [app.sessions.trashedProfile(id), app.hostSessions.trashedProfile(id)]
  const profiles = trashed.filter(profile => profile !== undefined)
  if (profiles.length > 0) return profiles
  return app.hostSessions.workspaceOf(home, id) === undefined ? [] : [home.name]
}

/** Whether the person may do this in a session. */
export const maySession = (ctx: Naming, access: Access, id: string): boolean => {
  if (ctx.person.role === 'owner') return true
  const profiles = profilesOf(ctx, id)
  return profiles.length > 0 && profiles.every(profile => ctx.may(access, profile))
}

const requireSession = (ctx: Naming, access: Access, id: string): void => {
  if (!maySession(ctx, access, id))
    throw missing('Session not found', { code: 'session_not_found' })
}

const requireStream = (ctx: Naming, access: Access, id: string): void => {
  if (!maySession(ctx, access, ctx.app.turns.log(id).session_id))
    throw missing('stream not found', { code: 'stream_not_found' })
}

/** Throws a 404 for a profile that the person was not given. */
export const requireProfile = ({ may }: Naming, access: Access, name: string): void => {
  if (!may(access, name))
    throw missing(`Profile '${name}' does not exist.`, {
      code: 'profile_not_found',
      values: { name },
    })
}

/** Throws a 403 unless a folder is in a workspace that an owner added to the profile. */
export const requireWorkspace = ({ app, person }: Naming, home: Home, path: string): void => {
  if (person.role === 'owner' || path.trim() === '') return
  const real = app.workspaces.check(home, path)
  const places = [...app.workspaces.list(home).map(each => each.path), app.workspaces.last(home)]
  if (!places.some(place => isInside(place, real)))
    throw forbidden('Only an owner can add a workspace. Choose one of this profile.', {
      code: 'path_not_allowed',
    })
}

/** The paths that a request about files changes: the one it names, and where it would be afterwards. */
const changedPaths = (fields: Record<string, unknown>): string[] => {
  const [path, name, folder] = ['path', 'new_name', 'dest_dir'].map(key =>
    fieldText(fields, key),
  ) as [string, string, string]
  if (path === '') return []
  return [
    path,
    ...(name === '' ? [] : [join(dirname(path), name)]),
    ...(folder === '' ? [] : [join(folder, basename(path))]),
  ]
}

/** Throws a 403 for files that decide about the agent. Endpoints whose input does not name all that they change ask `mayChange` themselves. */
const requireNoControl = (
  ctx: Naming,
  sessionId: string,
  fields: Record<string, unknown>,
): void => {
  const paths = changedPaths(fields)
  if (paths.length > 0) mayChangeIn(ctx, sessionId)?.(paths)
}

/** What refuses changes of control files in the folder of a session. Undefined for owners. */
export const mayChangeIn = (ctx: Naming, sessionId: string): ControlGuard | undefined => {
  const { app, home } = ctx
  const profile = app.sessions.row(sessionId)?.profile
  const { root } = app.files.areas.of(home, sessionId)
  return controlGuard(ctx, profile ? app.homes.of(profile) : home, root)
}

const fieldText = (fields: Record<string, unknown>, key: string): string => {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  return typeof value === 'string' ? value : ''
}

/** Throws unless the person may do what the endpoint asks for with everything that these fields name. */
export const requireNamed = (
  ctx: Naming,
  { access = 'own', public: isPublic, byToken, input }: AnyEndpoint,
  fields: unknown,
): void => {
  if (isPublic || byToken || ctx.person.role === 'owner') return
  const inputs = declared(input, fields)
  const [session, stream, profile, workspace] = NAMING_FIELDS.map(key =>
    fieldText(inputs, key),
  ) as [string, string, string, string]
  if (session !== '') requireSession(ctx, access, session)
  if (session !== '' && access === 'work') requireNoControl(ctx, session, inputs)
  if (stream !== '') requireStream(ctx, access, stream)
  if (profile !== '') requireProfile(ctx, access, profile)
  if (workspace === '') return
  const own = profile || (session === '' ? '' : ctx.app.sessions.row(session)?.profile)
  requireWorkspace(ctx, own ? ctx.app.homes.of(own) : ctx.home, workspace)
}

/** The fields that the schema of an input declares: the others of a loose object mean nothing to the endpoint. */
const declared = (input: z.ZodType | undefined, fields: unknown): Record<string, unknown> => {
  const entries = Object.entries(fields ?? {})
  const shape = input instanceof z.ZodObject ? input.shape : undefined
  return Object.fromEntries(shape ? entries.filter(([key]) => Object.hasOwn(shape, key)) : entries)
}

/** The profiles that a list is about: the wanted one, whose name was checked, or those that the person was given. Undefined: all. */
export const readableProfiles = (
  { person }: Naming,
  profile?: string,
): string | readonly string[] | undefined => profile || (person.profiles ?? undefined)
