/** Settings of the service, and the three choices that live in the profile's config.yaml instead. */
import { z } from 'zod'
import { SESSION_COOKIE } from '../lib/auth/cookie.ts'
import { SIGN_IN_LIFETIME_S } from '../lib/auth/login-sessions.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { formatCookie } from '../lib/http/cookies.ts'
import { setDefaultModel } from '../lib/models/default-model.ts'
import {
  parseDisplay,
  readReasoning,
  saveEffort,
  saveShowReasoning,
  showsReasoning,
} from '../lib/models/reasoning.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Settings } from '../lib/schema/settings.ts'
import { toBoolean } from '../lib/settings.ts'

const Shown = Settings.extend({
  default_model: z.string(),
  auth_enabled: z.boolean(),
  password_env_var: z.boolean(),
  password_missing: z.boolean(),
})

/** The record as the caller's profile sees it: default model and thinking display are the profile's. */
const shown = (ctx: Ctx) => {
  const settings = ctx.app.settings.get()
  return {
    ...settings,
    show_thinking: showsReasoning(ctx.home) ?? settings.show_thinking,
    default_model: ctx.app.models.default(ctx.home),
    ...passwordView(ctx),
  }
}

const isSignedIn = (ctx: Ctx): boolean => ctx.app.auth.check(ctx.cookies[SESSION_COOKIE])

/** A person who has just set the password must not be locked out by it. */
const keepSignedIn = (ctx: Ctx): void => {
  if (isSignedIn(ctx)) return
  const { address, secure } = ctx.client
  const cookie = ctx.app.auth.issue({ address, agent: ctx.req.headers['user-agent'] })
  if (cookie !== null)
    ctx.setCookie(formatCookie(SESSION_COOKIE, cookie, { maxAge: SIGN_IN_LIFETIME_S, secure }))
}

/** What the page needs to know of the password, none of it a secret. */
const passwordView = ({ app }: Ctx) => {
  const source = app.auth.mode()
  return {
    auth_enabled: source !== 'open',
    /** The variable decides: the page cannot change it. */
    password_env_var: source === 'environment',
    /** Signed in with the set-up token: a password has to be set. */
    password_missing: source === 'setup',
  }
}

export const get = endpoint({
  summary: 'Settings, without any secret',
  cache: 'no-store',
  output: Shown.extend({ webui_version: z.string(), logged_in: z.boolean() }),
  run: ctx => ({
    ...shown(ctx),
    webui_version: ctx.app.version,
    logged_in: ctx.app.auth.enabled() && isSignedIn(ctx),
  }),
})

export const save = endpoint({
  summary: 'Change some settings; set or clear the password',
  cache: 'no-store',
  input: z.looseObject({
    /** Blank changes nothing. */
    _set_password: z.unknown().optional(),
    _clear_password: z.unknown().optional(),
  }),
  output: Shown.extend({
    logged_in: z.boolean(),
    auth_just_enabled: z.boolean(),
    /** Keys that are no settings, or whose values cannot be meant. */
    ignored: z.array(z.string()),
  }),
  async run(ctx, { _set_password: password, _clear_password: isCleared, ...patch }) {
    const { auth, settings } = ctx.app
    const wasEnabled = auth.enabled()
    const next = typeof password === 'string' && password.trim() ? password : undefined
    const clears = toBoolean(isCleared)
    // What may refuse comes first: a refused request leaves nothing behind.
    if (next !== undefined) auth.checkChange(next)
    if (clears) auth.checkChange(null)
    if (typeof patch.show_thinking !== 'object' && patch.show_thinking !== undefined)
      mirrorThinking(ctx, toBoolean(patch.show_thinking))
    if (next !== undefined) {
      await auth.setPassword(next, ctx.cookies[SESSION_COOKIE])
      if (!clears) keepSignedIn(ctx)
    }
    if (clears) auth.clearPassword()
    const { ignored } = settings.save(patch)
    const logged_in = auth.enabled() && (next !== undefined || isSignedIn(ctx))
    return {
      ...shown(ctx),
      logged_in,
      auth_just_enabled: !wasEnabled && auth.enabled(),
      ignored,
    }
  },
})

/** The profile's flag is the one that counts; it is written only where it says something else. */
const mirrorThinking = (ctx: Ctx, isShown: boolean): void => {
  if (readReasoning(ctx.home).show_reasoning !== isShown) saveShowReasoning(ctx.home, isShown)
}

const Reasoning = z.object({ show_reasoning: z.boolean(), reasoning_effort: z.string() })

export const getReasoning = endpoint({
  summary: 'How hard the model thinks, and whether its thinking is shown',
  output: Reasoning,
  run: ctx => readReasoning(ctx.home),
})

export const setReasoning = endpoint({
  summary: 'Set the reasoning effort, or show or hide thinking',
  input: z.object({ display: z.unknown().optional(), effort: z.unknown().optional() }),
  output: Reasoning,
  run(ctx, { display, effort }) {
    if (display !== undefined && display !== null) {
      const isShown = parseDisplay(display)
      saveShowReasoning(ctx.home, isShown)
      ctx.app.settings.save({ show_thinking: isShown })
    } else if (effort !== undefined && effort !== null) saveEffort(ctx.home, effort)
    else throw invalid("reasoning: must supply 'display' or 'effort'")
    return readReasoning(ctx.home)
  },
})

export const setDefault = endpoint({
  summary: 'Set the default model of the profile',
  input: z.object({ model: z.string() }),
  output: Ok.extend({ model: z.string() }),
  run(ctx, { model }) {
    const written = setDefaultModel(ctx.home, model)
    ctx.app.models.forget(ctx.home)
    return { ...ok, model: written }
  },
})
