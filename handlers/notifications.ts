/** Notifications: what is sent, to which devices and services, and which page a person is looking at. */
import { z } from 'zod'
import { SESSION_COOKIE } from '../lib/people/sign-ins.ts'
import { recorded } from '../lib/people/audit.ts'
import { preferredLanguage } from '../lib/base/languages.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { missing } from '../lib/errors.ts'
import { personOf } from '../lib/notifications/receivers.ts'
import { Subscription } from '../lib/notifications/store.ts'
import { SessionId } from '../lib/schema/ids.ts'
import {
  NotificationDevice,
  NotificationKind,
  NotificationService,
  NotificationServiceType,
  NotificationSettings,
} from '../lib/schema/notification.ts'
import { Ok, ok } from '../lib/schema/ok.ts'

const State = z.object({
  settings: NotificationSettings,
  /** Kinds of single profiles, in place of those of the settings. */
  profiles: z.record(z.string(), z.array(NotificationKind)),
  devices: z.array(NotificationDevice),
  services: z.array(NotificationService),
})

/** Devices of the person; an owner has all of them, and the services. */
const isOwn = ({ app, person, may }: Ctx, id: string): boolean => {
  const receiver = app.notifications.receivers.find(id)
  return may('own', null) || (receiver !== undefined && personOf(receiver) === person.id)
}

const requireOwn = (ctx: Ctx, id: string): void => {
  if (!isOwn(ctx, id))
    throw missing('There is no such device or service. Reload the page.', {
      code: 'receiver_not_found',
    })
}

const show = (ctx: Ctx): z.output<typeof State> => {
  const { store, receivers } = ctx.app.notifications
  return {
    settings: store.settings(),
    profiles: Object.fromEntries(
      Object.entries(store.profiles()).filter(([name]) => ctx.may('read', name)),
    ),
    devices: receivers.devices().filter(({ id }) => isOwn(ctx, id)),
    services: ctx.may('own', null) ? receivers.services() : [],
  }
}

export const get = endpoint({
  access: 'read',
  summary: 'Notification settings, and the devices and services that receive notifications',
  cache: 'no-store',
  output: State,
  run: show,
})

/** Where the contents of chats go, and what can be answered there. Addresses and tokens are not recorded. */
const changed = <I>(detailOf: (input: I) => string | undefined) =>
  recorded<I>('settings', input => {
    const detail = detailOf(input)
    return detail === undefined ? undefined : `notifications ${detail}`
  })

export const save = endpoint({
  access: 'own',
  audit: changed(({ settings, profile }) =>
    [...Object.keys(settings ?? {}), ...(profile === undefined ? [] : [`profile ${profile}`])].join(
      ' ',
    ),
  ),
  summary:
    'Change notification settings, or the kinds of one profile (null: those of the settings)',
  input: z.object({
    settings: NotificationSettings.partial().optional(),
    profile: z.string().max(100).optional(),
    kinds: z.array(NotificationKind).nullable().optional(),
  }),
  output: State,
  run(ctx, { settings, profile, kinds }) {
    const { notifications } = ctx.app
    if (settings) notifications.changeSettings(settings)
    if (profile !== undefined && kinds !== undefined)
      notifications.store.setProfile(ctx.app.homes.of(profile).name, kinds)
    return show(ctx)
  },
})

export const key = endpoint({
  access: 'read',
  summary: 'The public key (VAPID) with which a browser subscribes to notifications',
  cache: 'no-store',
  output: z.object({ key: z.string() }),
  run: async ctx => ({ key: await ctx.app.notifications.publicKey() }),
})

export const addDevice = endpoint({
  access: 'read',
  audit: changed(({ name, refresh }) => (refresh ? undefined : `added ${name}`.trim())),
  summary: 'Send notifications to a browser; the same browser again is updated',
  input: z.object({
    subscription: Subscription,
    name: z.string().trim().max(60).default(''),
    /** Endpoint of the subscription that this one follows. */
    replaces: z.string().max(2_000).optional(),
    /** Only binds a known device to the current sign-in: one that was removed is not added again. */
    refresh: z.boolean().default(false),
  }),
  output: State,
  run(ctx, { subscription, name, replaces, refresh }) {
    const own = ctx.app.auth.list(ctx.cookies[SESSION_COOKIE]).find(each => each.current)
    ctx.app.notifications.receivers.subscribe(subscription, {
      refresh,
      name,
      signIn: own?.id ?? null,
      language: preferredLanguage(ctx.req.headers['accept-language']),
      person: ctx.person.id,
      replaces,
    })
    return show(ctx)
  },
})

export const addService = endpoint({
  once: 'disk',
  access: 'own',
  audit: changed(({ type }) => `added ${type}`),
  exact: true,
  summary: 'Send notifications to ntfy, Gotify, or a webhook; `secret` is shown in this reply only',
  input: z.object({
    type: NotificationServiceType,
    url: z.string().trim().min(1).max(2_000),
    topic: z.string().trim().max(64).optional(),
    secret: z.string().trim().max(500).optional(),
  }),
  output: State.extend({ secret: z.string().nullable(), id: z.string() }),
  run(ctx, input) {
    const { service, secret } = ctx.app.notifications.receivers.addService({
      ...input,
      language: preferredLanguage(ctx.req.headers['accept-language']),
    })
    return { ...show(ctx), secret, id: service.id }
  },
})

const Target = z.object({ id: z.string().max(64) })

export const setKinds = endpoint({
  access: 'read',
  summary: 'What one device or service receives (null: everything that the settings name)',
  input: Target.extend({ kinds: z.array(NotificationKind).nullable() }),
  output: State,
  run(ctx, { id, kinds }) {
    requireOwn(ctx, id)
    ctx.app.notifications.store.setKinds(id, kinds)
    return show(ctx)
  },
})

export const remove = endpoint({
  access: 'read',
  summary: 'Send nothing more to a device or service',
  input: Target,
  output: State,
  run(ctx, { id }) {
    requireOwn(ctx, id)
    const { receivers } = ctx.app.notifications
    const receiver = receivers.find(id)
    receivers.remove(id)
    // Afterwards no one knows its name.
    changed(() => receiver && `removed ${receivers.labelOf(receiver)}`)(ctx, {})
    return show(ctx)
  },
})

export const test = endpoint({
  once: 'disk',
  access: 'read',
  summary: 'Send a test notification to a device or service and wait for the result',
  input: Target,
  output: Ok,
  async run(ctx, { id }) {
    requireOwn(ctx, id)
    await ctx.app.notifications.test(id)
    return ok
  },
})

export const muted = endpoint({
  access: 'read',
  summary: 'Whether notifications of a chat are muted',
  input: z.object({ session_id: SessionId }),
  output: z.object({ muted: z.boolean() }),
  run: (ctx, { session_id }) => ({
    muted: ctx.app.notifications.store.isMuted(ctx.app.sessions.require(session_id).session_id),
  }),
})

export const mute = endpoint({
  access: 'work',
  summary: 'Mute notifications of a chat, or send them again',
  input: z.object({ session_id: SessionId, muted: z.boolean() }),
  output: z.object({ muted: z.boolean() }),
  run(ctx, { session_id, muted }) {
    ctx.app.notifications.store.mute(ctx.app.sessions.require(session_id).session_id, muted)
    return { muted }
  },
})

export const look = endpoint({
  access: 'read',
  summary:
    'Which chats a visible page shows, so that nothing about them is sent; repeated each minute',
  input: z.object({
    /** A random id of the page. */
    page: z.string().min(8).max(64),
    /** Empty: hidden, or no chat is shown. */
    sessions: z.array(SessionId).max(4),
  }),
  output: z.object({
    /** False: nothing receives notifications, so this need not be repeated. */
    active: z.boolean(),
  }),
  run: (ctx, { page, sessions }) => ({
    active: ctx.app.notifications.look(page, sessions, ctx.person.id),
  }),
})
