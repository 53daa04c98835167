/** Settings of the server, the password, and the default model of the profile. */
import { z } from 'zod'
import { SESSION_COOKIE, sessionCookie, signInClient } from '../lib/people/sign-ins.ts'
import { type Ctx, endpoint, refusedRoutes } from '../lib/context.ts'
import { requireServed, setDefaultModel } from '../lib/models/default-model.ts'
import { readReasoning, saveShowReasoning, showsReasoning } from '../lib/models/reasoning.ts'
import { forbidden } from '../lib/errors.ts'
import { Role } from '../lib/schema/person.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { toBoolean } from '../lib/profiles/settings.ts'
import { recorded } from '../lib/people/audit.ts'
import { SETTING_NAMES } from '../lib/base/setting-defaults.ts'
import { type SettingName, type Settings as Values, settingOf } from '../lib/base/settings.ts'

type Shape = { [K in SettingName]: z.ZodType<Values[K]> }

const schemaOf = (name: SettingName): z.ZodType => {
  const setting = settingOf(name)
  if (setting.type === 'choice') return z.enum(setting.choices)
  return setting.type === 'flag' ? z.boolean() : z.string()
}

const shape = Object.fromEntries(SETTING_NAMES.map(name => [name, schemaOf(name)]))

export const Settings = z.object(shape as unknown as Shape).meta({ id: 'Settings' })

const Shown = Settings.extend({
  default_model: z.string(),
  auth_enabled: z.boolean(),
  password_env_var: z.boolean(),
  password_missing: z.boolean(),
})

/** The settings as the person and the request's profile see them: the default model and `show_thinking` come from its config.yaml. */
const settingsView = (ctx: Ctx) => {
  const settings = ctx.app.personalSettings.of(ctx.person)
  return {
    ...settings,
    show_thinking: showsReasoning(ctx.home) ?? settings.show_thinking,
    default_model: ctx.app.models.default(ctx.home),
    ...passwordView(ctx),
  }
}

const isSignedIn = (ctx: Ctx): boolean => ctx.app.auth.check(ctx.cookies[SESSION_COOKIE])

/** Signs the browser in that has just set the password: it would be locked out otherwise. */
const keepSignedIn = (ctx: Ctx): void => {
  if (isSignedIn(ctx)) return
  const { address, secure } = ctx.client
  const cookie = ctx.app.auth.issue({ address, agent: ctx.req.headers['user-agent'] })
  if (cookie !== null) ctx.setCookie(sessionCookie(cookie, secure))
}

/** State of the password, without any secret. */
const passwordView = ({ app }: Ctx) => {
  const source = app.auth.mode()
  return {
    auth_enabled: source !== 'open',
    /** Set by AGENT_WEBUI_PASSWORD: the page cannot change it. */
    password_env_var: source === 'environment',
    /** The browser signed in with the setup token: a password has to be set. */
    password_missing: source === 'setup',
  }
}

const personView = (ctx: Ctx) => {
  const { app, person } = ctx
  const { id, role, profiles } = person
  if (!app.auth.enabled() || (id === '' && !app.people.hasOthers())) return {}
  return {
    person: {
      id,
      name: app.people.nameOf({ id }),
      role,
      profiles: profiles && [...profiles],
      refused: refusedRoutes(ctx),
    },
  }
}

export const get = endpoint({
  access: 'read',
  summary: 'Settings, without any secret',
  cache: 'no-store',
  output: Shown.extend({
    webui_version: z.string(),
    logged_in: z.boolean(),
    /** Absent for the only owner, who may do everything. */
    person: z
      .object({
        id: z.string(),
        name: z.string(),
        role: Role,
        profiles: z.array(z.string()).nullable(),
        /** Routes that the role refuses, so that the page does not offer them. */
        refused: z.array(z.string()),
      })
      .optional(),
  }),
  run: ctx => ({
    ...settingsView(ctx),
    webui_version: ctx.app.version,
    logged_in: ctx.app.auth.enabled() && isSignedIn(ctx),
    ...personView(ctx),
  }),
})

export const save = endpoint({
  access: 'own',
  summary: 'Change some settings; set or clear the password',
  audit(ctx, { _set_password, _clear_password, _current_password, ...patch }, error) {
    const sets = typeof _set_password === 'string' && _set_password.trim() !== ''
    if (sets) recorded('password-set')(ctx, {}, error)
    if (toBoolean(_clear_password)) recorded('password-removed')(ctx, {}, error)
    const keys = Object.keys(patch).join(' ')
    recorded('settings', () => keys || undefined)(ctx, {}, error)
  },
  cache: 'no-store',
  input: z.looseObject({
    /** Blank changes nothing. */
    _set_password: z.unknown().optional(),
    _clear_password: z.unknown().optional(),
    /** The password in force, where the sign-in is not a confirmation by itself. */
    _current_password: z.string().max(5_000).optional(),
  }),
  output: Shown.extend({
    logged_in: z.boolean(),
    auth_just_enabled: z.boolean(),
    /** Unknown keys, and keys with invalid values. */
    ignored: z.array(z.string()),
  }),
  async run(ctx, input) {
    const {
      _set_password: password,
      _clear_password: isCleared,
      _current_password,
      ...patch
    } = input
    const { auth, settings } = ctx.app
    const wasEnabled = auth.enabled()
    const next = typeof password === 'string' && password.trim() ? password : undefined
    const clears = toBoolean(isCleared)
    // Everything that may throw comes first: a rejected request changes nothing.
    if ((next !== undefined || clears) && ctx.person.id !== '')
      throw forbidden('Only the first owner can change the password of the server.', {
        code: 'role_not_allowed',
      })
    if (next !== undefined) auth.checkChange(next)
    if (clears) auth.checkChange(null)
    // A stolen cookie must not replace the password, nor a paired device.
    if (next !== undefined || clears)
      await auth.confirmChange(ctx.cookies[SESSION_COOKIE], {
        password: _current_password,
        client: signInClient(ctx),
      })
    if (typeof patch.show_thinking !== 'object' && patch.show_thinking !== undefined)
      mirrorThinking(ctx, toBoolean(patch.show_thinking))
    if (next !== undefined) {
      await auth.setPassword(next, ctx.cookies[SESSION_COOKIE])
      // Devices from before there was a password have no sign-in that could be ended.
      ctx.app.notifications.store.removeDevicesOf(signIn => signIn === null)
      if (!clears) keepSignedIn(ctx)
    }
    if (clears) auth.clearPassword()
    const { ignored } = settings.save(patch)
    const logged_in = auth.enabled() && (next !== undefined || isSignedIn(ctx))
    return {
      ...settingsView(ctx),
      logged_in,
      auth_just_enabled: !wasEnabled && auth.enabled(),
      ignored,
    }
  },
})

export const savePersonal = endpoint({
  access: 'read',
  summary:
    'Change what the person sees, such as theme and language; those of the first owner are the defaults of all',
  cache: 'no-store',
  input: z.looseObject({}),
  output: Shown.extend({
    /** Unknown keys, keys of the server, and keys with invalid values. */
    ignored: z.array(z.string()),
  }),
  run(ctx, patch) {
    const ignored = ctx.app.personalSettings.save(ctx.person, patch)
    return { ...settingsView(ctx), ignored }
  },
})

/** `display.show_reasoning` of the profile overrides the setting; it is written only when it differs. */
const mirrorThinking = (ctx: Ctx, isShown: boolean): void => {
  if (readReasoning(ctx.home).show_reasoning !== isShown) saveShowReasoning(ctx.home, isShown)
}

export const setDefault = endpoint({
  access: 'own',
  summary: 'Set the default model of the profile',
  input: z.object({ model: z.string() }),
  output: Ok.extend({ model: z.string() }),
  run(ctx, { model }) {
    requireServed(ctx.home, model)
    const id = setDefaultModel(ctx.home, model)
    ctx.app.models.forget(ctx.home)
    return { ...ok, model: id }
  },
})
