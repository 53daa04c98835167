/**
 * The JSON files of the state directory that people and other programs can damage, each in the form that the service reads it
 * in: one table for the log of a start, the page, SIGHUP, and `doctor`.
 */
import { join } from 'node:path'
import type { z } from 'zod'
import { ApiTokensFile } from '../people/api-tokens.ts'
import { SignInsFile } from '../people/sign-ins.ts'
import { PasswordRecord } from '../people/password-record.ts'
import { People } from '../people/people.ts'
import { ThrottleFile } from '../people/throttle.ts'
import type { KnownFile } from '../operations/checks/check.ts'
import { BackupsFile } from '../operations/backups/backups.ts'
import { AcceptedGuardsFile } from '../commands/guards/accepted-guards.ts'
import { OutboxFile } from '../notifications/outbox.ts'
import { NotificationsFile } from '../notifications/store.ts'
import { VapidFile } from '../notifications/vapid.ts'
import { parseProjects } from '../workspaces/projects.ts'
import { parseSettings } from '../profiles/settings.ts'
import { SharesFile } from '../sessions/shares/shares.ts'
import { ImportsFile } from '../schema/import.ts'
import { JsonFile } from '../store/json-file.ts'
import { GrantFile } from '../turns/context/grants.ts'

type FileForm = {
  /** Throws for a value that the service cannot use. */
  parse: (value: unknown) => unknown
  /** What is the case until it can be read. */
  until: string
  /** Read at the start only, so that a repaired file needs another one. */
  isReadOnce?: true
  /** The service replaces it with its next change: nothing for a person to repair. */
  isReplaced?: true
}

const of =
  (schema: z.ZodType) =>
  (value: unknown): unknown =>
    value === undefined ? undefined : schema.parse(value)

const FILES: Readonly<Record<string, FileForm>> = {
  'settings.json': {
    parse: parseSettings,
    until:
      'Until then, settings cannot be changed and defaults apply; the password in .password counts, and without that file sign-in stays closed.',
  },
  '.password': { parse: of(PasswordRecord), until: 'Until then, sign-in stays closed.' },
  'api-tokens.json': {
    parse: of(ApiTokensFile),
    until: 'Until then, the API for other programs stays off.',
    isReadOnce: true,
  },
  'shares.json': {
    parse: of(SharesFile),
    until: 'Until then, share links stay off.',
    isReadOnce: true,
  },
  'notifications.json': {
    parse: of(NotificationsFile),
    until: 'Until then, no notifications are sent.',
    isReadOnce: true,
  },
  'vapid.json': {
    parse: of(VapidFile),
    until: 'Until then, no notifications are sent to browsers.',
  },
  'projects.json': { parse: parseProjects, until: 'Until then, projects cannot be changed.' },
  'grants.json': {
    parse: of(GrantFile),
    until: 'Until then, permissions that were given for good do not apply.',
  },
  'accepted-guards.json': {
    parse: of(AcceptedGuardsFile),
    until: 'Until then, safeguards that were accepted block again.',
  },
  'backups.json': { parse: of(BackupsFile), until: 'Until then, no backups are made.' },
  'imports.json': { parse: of(ImportsFile), until: 'Until then, the page imports nothing.' },
  'auth-sessions.json': {
    parse: of(SignInsFile),
    until: 'Everyone has to sign in again.',
    isReplaced: true,
  },
  'auth-throttle.json': {
    parse: of(ThrottleFile),
    until: 'Earlier sign-in attempts are not counted.',
    isReplaced: true,
  },
  'auth-code-throttle.json': {
    parse: of(ThrottleFile),
    until: 'Earlier sign-in attempts are not counted.',
    isReplaced: true,
  },
  'notifications-outbox.json': {
    parse: of(OutboxFile),
    until: 'Notifications that were not sent yet are lost.',
    isReplaced: true,
  },
}

const REPAIRED = 'it was repaired since; restart the service, which reads it at the start only'

const watchFile = (path: string, { parse, isReadOnce }: FileForm): KnownFile['problem'] => {
  const file = new JsonFile(path, parse)
  const isOff = isReadOnce === true && file.problem() !== null
  return () => {
    const reason = file.problem() ?? (isOff ? REPAIRED : null)
    return reason === null ? null : { file: path, reason, in_force: !isOff && !file.isLost() }
  }
}

/** In the order of the report. What could be read once stays in force for as long as the result is used. */
export const knownFiles = (stateDir: string): KnownFile[] => {
  const files = Object.entries(FILES).map(([name, rule]) => {
    const { until, isReplaced } = rule
    const path = join(stateDir, name)
    return { name, path, until, isReplaced, problem: watchFile(path, rule) }
  })
  // What makes it unusable depends on other files.
  const people = new People(stateDir, () => undefined)
  const until = 'Until then, sign-in stays closed.'
  const name = 'people.json'
  return [
    ...files,
    {
      name,
      path: join(stateDir, name),
      until,
      isReplaced: undefined,
      problem: () => people.problem(),
    },
  ]
}
