/** Notifications: what is reported, the settings, the devices and services that receive them, and the text of a Web Push message. */
import { z } from 'zod'

/** What a person can be notified about. `task_done` is off by default. */
export const NotificationKind = z.enum([
  'approval',
  'question',
  'finished',
  'failed',
  'budget',
  'task_failed',
  'task_done',
])
export type NotificationKind = z.infer<typeof NotificationKind>

const Time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time like 22:30')

/** In the person's time zone. `from` after `to` spans midnight. */
export const QuietHours = z.object({
  enabled: z.boolean(),
  from: Time,
  to: Time,
  /** A name of the time zone database, such as `Europe/Berlin`. */
  zone: z.string().max(64),
})
export type QuietHours = z.infer<typeof QuietHours>

export const NotificationSettings = z
  .object({
    kinds: z.array(NotificationKind),
    /** False: no title, no text, only that the agent needs the person or is done. */
    content: z.boolean(),
    quiet: QuietHours,
    /** Kinds that are also sent during quiet hours. */
    urgent: z.array(NotificationKind),
    /** Allow can also be chosen in the notification for commands that may do damage. */
    allow_risky: z.boolean(),
    /** The address of the page for links in notifications, ending in `/`; empty: none is known. */
    base_url: z.string().max(2_000),
  })
  .meta({ id: 'NotificationSettings' })
export type NotificationSettings = z.infer<typeof NotificationSettings>

/** Why a message could not be sent; `lib/base/notification-problems.ts` says what to do about it. */
export const NotificationProblem = z.enum([
  'unauthorized',
  'subscription',
  'not_found',
  'redirected',
  'rate_limited',
  'too_large',
  'rejected',
  'server_error',
  'unreachable',
  'address_blocked',
])
export type NotificationProblem = z.infer<typeof NotificationProblem>

/** A browser that receives Web Push messages. */
export const NotificationDevice = z
  .object({
    id: z.string(),
    name: z.string(),
    created_at: z.number(),
    /** Host of the browser vendor's push service. */
    service: z.string(),
    /** Kinds for this device only; null: all that the settings name. */
    kinds: z.array(NotificationKind).nullable(),
    /** Seconds since 1970; null: nothing was sent yet. */
    last_sent_at: z.number().nullable(),
    /** Why the last message could not be sent; null: it was. */
    problem: z.string().nullable(),
    problem_code: NotificationProblem.nullable(),
  })
  .meta({ id: 'NotificationDevice' })
export type NotificationDevice = z.infer<typeof NotificationDevice>

export const NotificationServiceType = z.enum(['ntfy', 'gotify', 'webhook'])
export type NotificationServiceType = z.infer<typeof NotificationServiceType>

/** A service that the person configured. Its secret is never returned. */
export const NotificationService = z
  .object({
    id: z.string(),
    type: NotificationServiceType,
    url: z.string(),
    /** Of ntfy. */
    topic: z.string().optional(),
    has_secret: z.boolean(),
    kinds: z.array(NotificationKind).nullable(),
    last_sent_at: z.number().nullable(),
    problem: z.string().nullable(),
    problem_code: NotificationProblem.nullable(),
  })
  .meta({ id: 'NotificationService' })
export type NotificationService = z.infer<typeof NotificationService>

/** An answer that a notification offers. `token` is valid for this answer to this question only. */
export type NotificationAction = {
  action: 'allow' | 'deny' | 'choice' | 'reply'
  title: string
  token: string
}

/** The decrypted payload of a Web Push message. Fields are only added, because an older worker may receive it. */
export type PushPayload = {
  version: 1
  kind: NotificationKind
  title: string
  body: string
  /** Notifications of the same question or turn replace each other. */
  tag: string
  /** Relative to the base address of the page. */
  url: string
  /** How many approvals and questions wait, for the badge of the app. */
  waiting: number
  actions: NotificationAction[]
  /** Shown when an answer could not be sent. */
  failed: string
  /** The language of the texts, and its direction. */
  lang?: string
  dir?: 'ltr' | 'rtl'
  /** It replaces a question that is settled: no sound, and it may disappear. */
  settled?: boolean
}
