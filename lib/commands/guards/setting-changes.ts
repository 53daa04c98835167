/** Changes of guarded settings that wait until a person confirms them: shown, logged and recorded once, accepted or undone. */
import { existsSync } from 'node:fs'
import { redact } from '../../base/redact/redact.ts'
import { type Clock, every } from '../../base/clock.ts'
import { isObject, type JsonObject } from '../../base/json.ts'
import { conflict, messageOf } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { Notify } from '../../schema/notice.ts'
import type { ChangedSettings } from '../../schema/changed-settings.ts'
import { type AcceptedSettings, changesId } from './accepted-settings.ts'
import { restoringEdits, type SettingChange } from './guarded-settings.ts'

const SHOWN_CHARS = 400
/** They may hold secrets that no one has named yet. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'env',
  'headers',
  'extra_headers',
  'default_headers',
  'api_key',
  'oauth',
])

const masked = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) return value.map(each => masked(each, name))
  if (!isObject(value)) return SECRET_FIELDS.has(name) ? '…' : value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      masked(each, SECRET_FIELDS.has(name) ? name : key),
    ]),
  )
}

const lookAt = (accepted: AcceptedSettings, { name, configFile: config }: Home) =>
  accepted.look(name, config.path, config.peek())

/** What waits in one profile, with masked values; null: nothing. */
export const shownChanges = (home: Home, accepted: AcceptedSettings): ChangedSettings | null => {
  const { changes } = lookAt(accepted, home)
  if (changes.length === 0) return null
  const toText = (value: unknown, { path }: SettingChange): string | null =>
    value === undefined
      ? null
      : redact(JSON.stringify(masked(value, path.at(-1)))).slice(0, SHOWN_CHARS)
  return {
    profile: home.name,
    file: home.configFile.path,
    change_id: changesId(changes),
    changes: changes.map(change => ({
      key: change.path.join('.'),
      accepted: toText(change.accepted, change),
      now: toText(change.now, change),
    })),
  }
}

/** `changeId`: the id of the changes that the person saw. Throws a UserError (409) when the file has changed since. */
export const answerChanges = (
  { strict: home }: Home,
  accepted: AcceptedSettings,
  { changeId, accepts }: { changeId: string; accepts: boolean },
): void => {
  const values = home.configFile.read()
  const look = lookAt(accepted, home)
  if (changesId(look.changes) !== changeId)
    throw conflict(`${home.configFile.path} has changed. Review its values again.`, {
      code: 'guard_changed',
    })
  if (accepts) accepted.accept(home.name, values)
  else home.configFile.editAll(restoringEdits(values, look))
}

const CHECK_MS = 2_000

type SettingChangesOptions = {
  accepted: AcceptedSettings
  homes: () => Home[]
  clock: Clock
  warn: (line: string) => void
  notify: Notify
  /** Into the audit log. */
  record: (detail: string) => void
}

export class SettingChanges {
  readonly #options: SettingChangesOptions
  readonly #accepted: AcceptedSettings
  /** What was reported, by profile. */
  #changeIds = new Map<string, string>()
  /** What the files held at the last look: a file that is only half written must not count as tightened. */
  readonly #seen = new Map<string, Readonly<JsonObject>>()
  #knownProblem: string | null = null
  readonly close: () => void

  constructor(options: SettingChangesOptions) {
    this.#options = options
    this.#accepted = options.accepted
    this.#attempt()
    this.close = every(options.clock, CHECK_MS, () => this.#attempt())
  }

  #report({ profile, file, changes }: ChangedSettings): void {
    const { warn, record, notify } = this.#options
    const keys = changes.map(({ key }) => key).join(', ')
    const sentence = `${file} changed ${keys}, which nobody confirmed. The earlier values stay in force until you accept or restore them in the settings under Security.`
    warn(sentence)
    record(`${profile}: config.yaml changed ${keys}; not in force`)
    notify('error', sentence, { code: 'settings_changed', values: { file, keys } })
  }

  /** Once something is tightened, the looser value needs a person again. */
  #tighten(home: Home): void {
    const values = home.configFile.peek()
    if (home.configFile.problem() !== null || !existsSync(home.configFile.path)) return
    const { inForce } = lookAt(this.#accepted, home)
    if (this.#seen.get(home.name) === values && this.#accepted.knows(home.name))
      this.#accepted.accept(home.name, inForce)
    this.#seen.set(home.name, values)
  }

  #check(): void {
    const { warn, record, notify, homes } = this.#options
    const { path } = this.#accepted
    const problem = this.#accepted.problem()
    if (problem !== null && `${problem}` !== this.#knownProblem) {
      const sentence = `${path} cannot be used: ${problem}. Settings that loosen what the agent may do stay off until you accept them again in the settings under Security.`
      warn(sentence)
      record(`${path} cannot be used`)
      notify('error', sentence, {
        code: 'settings_unconfirmed',
        values: { file: path, reason: problem },
      })
    }
    this.#knownProblem = problem && `${problem}`
    const changeIds = new Map<string, string>()
    for (const home of homes()) {
      const changes = this.of(home)
      if (changes) changeIds.set(home.name, changes.change_id)
      if (changes && this.#changeIds.get(home.name) !== changes.change_id) this.#report(changes)
      if (problem === null) this.#tighten(home)
    }
    this.#changeIds = changeIds
  }

  #attempt(): void {
    try {
      this.#accepted.keep()
      this.#check()
    } catch (error) {
      // A full disk, for example. What was confirmed stays in force in this process, and the next look tries again.
      this.#options.warn(`${this.#accepted.path} could not be written: ${messageOf(error)}`)
    }
  }

  /** Null: nothing waits. */
  of(home: Home): ChangedSettings | null {
    return shownChanges(home, this.#accepted)
  }

  settle(home: Home, changeId: string, accepts: boolean): void {
    answerChanges(home, this.#accepted, { changeId, accepts })
  }
}
