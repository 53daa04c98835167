/** Profiles: isolated homes of the agent. List, create, switch and delete them. */
import { z } from 'zod'
import { type Ctx, endpoint, requireProfile } from '../lib/context.ts'
import { conflict, invalid } from '../lib/errors.ts'
import { formatCookie } from '../lib/http/cookies.ts'
import { setDefaultModel } from '../lib/models/default-model.ts'
import { DEFAULT_PROFILE, PROFILE_COOKIE } from '../lib/profiles/homes.ts'
import { PROFILE_NAME } from '../lib/schema/ids.ts'
import { ok } from '../lib/schema/ok.ts'
import { Profile } from '../lib/schema/profile.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

const Name = z.string('name is required').min(1, 'name is required')
const Blank = z.string().optional()

/** Also set for `default`: without a cookie, requests use the active profile of the process. */
const setProfileCookie = (ctx: Ctx, name: string): void =>
  ctx.setCookie(formatCookie(PROFILE_COOKIE, name, { secure: ctx.client.secure }))

const rejectWhileRunning = (ctx: Ctx, what: string): void => {
  // A scheduled job counts from the start of its script, before its turn starts.
  if (ctx.app.turns.count() + ctx.app.cron.count() > 0)
    throw conflict(`Cannot ${what} while an agent is running. Cancel or wait for it to finish.`, {
      code: 'agent_running',
    })
}

const listOf = async (ctx: Ctx, active: string) =>
  (await ctx.app.profiles.list(active)).filter(({ name }) => ctx.may('read', name))

export const active = endpoint({
  access: 'read',
  summary: 'The profile of this request and its home',
  output: z.object({ name: z.string(), path: z.string() }),
  run: ctx => {
    const { name, dir } = ctx.home
    const cookieProfile = ctx.cookies[PROFILE_COOKIE]
    // The profile of the cookie was deleted. Replace it: a new profile of that name must not be entered silently.
    if (cookieProfile && cookieProfile !== name && PROFILE_NAME.test(cookieProfile))
      setProfileCookie(ctx, name)
    return { name, path: dir }
  },
})

export const list = endpoint({
  access: 'read',
  summary: 'All profiles, the default one first',
  output: z.object({ profiles: z.array(Profile), active: z.string() }),
  run: async ctx => ({
    profiles: await listOf(ctx, ctx.home.name),
    active: ctx.home.name,
  }),
})

export const create = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Create a profile, empty or with the configuration of another one',
  input: z.object({
    name: Name,
    clone_from: Blank,
    clone_config: z.unknown().optional().transform(toBoolean),
    base_url: Blank,
    api_key: Blank,
    model: Blank,
  }),
  output: z.object({ ok: z.literal(true), profile: Profile }),
  run: async (ctx, { name, clone_from, clone_config, ...rest }) => {
    const { profiles, homes } = ctx.app
    profiles.checkName(name)
    if (clone_from && !PROFILE_NAME.test(clone_from))
      throw invalid('Invalid clone_from name', { code: 'invalid_profile_name' })
    const baseUrl = rest.base_url?.trim()
    if (baseUrl && !(/^https?:\/\//.test(baseUrl) && URL.canParse(baseUrl)))
      throw invalid('base_url must start with http:// or https://', { code: 'invalid_address' })
    const model = rest.model?.trim()
    const home = profiles.create({
      name,
      source: clone_from ? homes.open(clone_from) : clone_config ? ctx.home : undefined,
      baseUrl: baseUrl?.replace(/\/+$/, ''),
      apiKey: rest.api_key?.trim(),
      prepare: model ? home => void setDefaultModel(home, model) : undefined,
    })
    return { ...ok, profile: await profiles.record(home, ctx.home.name) }
  },
})

export const change = endpoint({
  access: 'read',
  summary: 'Switch this browser to another profile',
  input: z.object({
    name: Name,
    /** The active profile of the server, which that of an owner's browser becomes otherwise, stays. */
    only_here: z.boolean().default(false),
  }),
  output: z.object({
    profiles: z.array(Profile),
    active: z.string(),
    default_model: z.string().nullable(),
    default_workspace: z.string(),
  }),
  run: async (ctx, { name, only_here: isOnlyHere }) => {
    const { homes, models, workspaces } = ctx.app
    const home = homes.open(name)
    requireProfile(ctx, 'read', name)
    // The active profile of the server is that of its owner.
    if (ctx.may('own', null) && !isOnlyHere) {
      rejectWhileRunning(ctx, 'switch profiles')
      homes.activate(home)
    }
    setProfileCookie(ctx, name)
    return {
      profiles: await listOf(ctx, name),
      active: name,
      default_model: models.default(home) || null,
      default_workspace: workspaces.defaultOf(home),
    }
  },
})

export const remove = endpoint({
  access: 'own',
  summary: 'Delete a profile with everything in its home',
  input: z.object({ name: Name }),
  output: z.object({ ok: z.literal(true), name: z.string() }),
  run: async (ctx, { name }) => {
    const { homes, profiles } = ctx.app
    const home = homes.open(name)
    profiles.checkRemovable(home)
    rejectWhileRunning(ctx, `delete profile '${name}'`)
    // Compared before the profile is deleted.
    const isOwn = ctx.home.name === name
    const removal = profiles.remove(home)
    // This browser moves to the default profile; other browsers do so with their next request.
    if (isOwn) setProfileCookie(ctx, DEFAULT_PROFILE)
    await removal
    return { ...ok, name }
  },
})
