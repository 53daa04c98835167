/** Stores settings.json: validated, written key by key from an allow-list. */
import type { UnreadableFile } from '../schema/file-problem.ts'
import { isObject, isObjectOrArray } from '../base/json.ts'
import { DEFAULT_SETTINGS, PERSONAL_SETTINGS, SETTING_NAMES } from '../base/setting-defaults.ts'
import {
  type SettingName,
  settingOf,
  SETTINGS,
  type Settings,
  type SettingWith,
} from '../base/settings.ts'
import { lookAgain } from '../store/file-stats.ts'
import { JsonFile } from '../store/json-file.ts'

export type SettingsOptions = {
  botName: string
  /** The real path of a directory the agent may work in, or undefined. */
  usableWorkspace: (path: string) => string | undefined
  /** The workspace of new sessions; receives the saved path if it is usable. */
  defaultWorkspace: (path: string | undefined) => string
  /** Moves the default model of an older settings.json to config.yaml. */
  migrateDefaultModel: (model: string) => void
}

type StoredSettings = Readonly<Record<string, unknown>>

/** Keys of earlier versions, removed with the next save. */
const OBSOLETE_KEYS: ReadonlySet<string> = new Set([
  'assistant_language',
  'bubble_layout',
  'default_model',
])

const LANGUAGE = /^[A-Za-z]{2,10}(?:-[A-Za-z0-9]{2,8})?$/
const MAX_NAME_CHARS = 64

/** False for false, 0, '', null, `false`, `0`, `no`, `off`; true otherwise. */
export const toBoolean = (value: unknown): boolean =>
  typeof value === 'string'
    ? !['', 'false', '0', 'no', 'off'].includes(value.trim().toLowerCase())
    : Boolean(value)

/** Earlier themes that became skins. The theme is stored as given. */
const SKIN_OF_THEME: ReadonlyMap<string, Settings['skin']> = new Map(
  Object.entries({
    slate: 'slate',
    solarized: 'poseidon',
    monokai: 'sisyphus',
    nord: 'slate',
    oled: 'default',
  } as const),
)

const isSkin = (value: unknown): value is Settings['skin'] =>
  SETTINGS.skin.choices.some(skin => skin === value)

/** A single line of text; undefined when invalid. */
const line = (value: unknown, longest: number): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value).trim()
  return [...text].length <= longest && !/\p{Cc}/u.test(text) ? text : undefined
}

/** Converts a JSON value to what is stored; undefined rejects it. */
type Accept = (value: unknown) => string | undefined
type Texts = Record<SettingWith<{ type: 'text' }>, Accept>

const textsOf = ({ botName, usableWorkspace }: SettingsOptions): Texts => ({
  default_workspace: value =>
    typeof value === 'string' ? (value.trim() ? usableWorkspace(value) : '') : undefined,
  theme: value => line(value, MAX_NAME_CHARS) || undefined,
  language: value => (typeof value === 'string' && LANGUAGE.test(value) ? value : undefined),
  bot_name: value => {
    const name = line(value ?? '', MAX_NAME_CHARS)
    return name === '' ? botName : name
  },
})

const isText = (name: SettingName): name is keyof Texts => settingOf(name).type === 'text'

const acceptValue = (
  texts: Texts,
  name: SettingName,
  value: unknown,
): string | boolean | undefined => {
  if (isText(name)) return texts[name](value)
  const setting = settingOf(name)
  if (setting.type === 'choice') return setting.choices.find(choice => choice === value)
  return isObjectOrArray(value) ? undefined : toBoolean(value)
}

export const parseSettings = (value: unknown): StoredSettings => {
  if (value === undefined) return {}
  if (!isObject(value)) throw new Error('settings.json is not an object')
  return value as StoredSettings
}

/** Invalid values in the file count as absent. */
const toSettings = (values: StoredSettings, texts: Texts, botName: string): Settings => {
  const valid: Partial<Settings> = Object.fromEntries(
    SETTING_NAMES.flatMap(name => {
      const value = name in values ? acceptValue(texts, name, values[name]) : undefined
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const all: Settings = { ...DEFAULT_SETTINGS, bot_name: botName, ...valid }
  return {
    ...all,
    language_from: valid.language_from ?? (valid.language === undefined ? 'browser' : 'setting'),
    skin: valid.skin ?? SKIN_OF_THEME.get(all.theme) ?? all.skin,
  }
}

export class SettingsStore {
  readonly #path: string
  readonly #options: SettingsOptions
  readonly #file
  readonly #texts: Texts
  #hasRead = false
  #last: { raw: StoredSettings; settings: Settings } | undefined
  /** A copy of the password hash; `lib/people/password-record.ts` is authoritative. */
  readonly password: {
    read(): { kind: 'none' } | { kind: 'hash'; hash: string } | { kind: 'damaged'; why: string }
    /** Null removes it. */
    store(hash: string | null): void
  }

  constructor(path: string, options: SettingsOptions) {
    this.#path = path
    this.#options = options
    this.#file = new JsonFile<StoredSettings>(path, parseSettings, {
      mayDangle: true,
      looks: 'watched',
    })
    this.#texts = textsOf(options)
    this.password = {
      read: () => {
        const { password_hash: hash } = this.#values()
        // Treating a damaged file as "no password" would let everyone in.
        if (!this.#hasRead) return { kind: 'damaged', why: `${path} cannot be read` }
        if (hash === undefined || hash === null || hash === '') return { kind: 'none' }
        return typeof hash === 'string' && /^[0-9a-f]{64}$/i.test(hash)
          ? { kind: 'hash', hash: hash.toLowerCase() }
          : { kind: 'damaged', why: `The password_hash in ${path} is damaged` }
      },
      store: hash => {
        lookAgain()
        const { password_hash: before, ...rest } = this.#values()
        if (hash === null ? before !== undefined : before !== hash)
          this.#file.write(hash === null ? rest : { ...rest, password_hash: hash })
      },
    }
  }

  get(): Settings {
    const raw = this.#values()
    if (this.#last?.raw !== raw)
      this.#last = { raw, settings: toSettings(raw, this.#texts, this.#options.botName) }
    const { defaultWorkspace } = this.#options
    const path = this.#texts.default_workspace(raw.default_workspace) || undefined
    return {
      ...this.#last.settings,
      // Looked up for those who use it, at that time: the directory may be deleted while the file stays the same.
      get default_workspace() {
        return defaultWorkspace(path)
      },
    }
  }

  /** Why the file cannot be read, and whether an earlier version of it still counts; null when all is well. */
  problem(): UnreadableFile | null {
    const reason = this.#file.problem()
    return reason === null ? null : { file: this.#path, reason, in_force: !this.#file.isLost() }
  }

  /** With a person's own choices, as they are stored with the person. Invalid ones count as absent. */
  of(own: StoredSettings): Settings {
    return { ...this.get(), ...this.#validate(own, PERSONAL_SETTINGS).valid }
  }

  /** The valid personal settings of a patch, as they are stored, and the keys of everything else. */
  acceptPersonal(patch: StoredSettings): { accepted: StoredSettings; ignored: string[] } {
    const { valid, ignored } = this.#validate(patch, PERSONAL_SETTINGS)
    return { accepted: valid, ignored }
  }

  /** Saves valid values; returns the keys of invalid and unknown ones in `ignored`. */
  save(patch: Readonly<Record<string, unknown>>): { settings: Settings; ignored: string[] } {
    const { valid, ignored } = this.#validate(patch, SETTING_NAMES)
    const skin = typeof valid.theme === 'string' ? SKIN_OF_THEME.get(valid.theme) : undefined
    if (skin && !isSkin(valid.skin)) valid.skin = skin
    if (Object.keys(valid).length > 0) this.#write(valid)
    return { settings: this.get(), ignored }
  }

  #moveDefaultModel(): void {
    try {
      lookAgain()
      const raw = this.#file.read()
      if (typeof raw.default_model === 'string')
        this.#options.migrateDefaultModel(raw.default_model)
      const { default_model: _, ...rest } = raw
      this.#file.write(rest)
    } catch {
      // A broken config.yaml or a full disk must not prevent reading the settings. Retried next time.
    }
  }

  #values(): StoredSettings {
    const raw = this.#file.read()
    const isWhole = this.#file.problem() === null
    this.#hasRead ||= isWhole
    if (!isWhole || !('default_model' in raw)) return raw
    this.#moveDefaultModel()
    return this.#file.read()
  }

  /** Stores only what was set, so that defaults from the environment still apply to the rest. */
  #write(patch: StoredSettings): void {
    lookAgain()
    const remaining = Object.entries(this.#values()).filter(([key]) => !OBSOLETE_KEYS.has(key))
    this.#file.write({ ...Object.fromEntries(remaining), ...patch })
  }

  /** Valid values of these keys; everything else is ignored. */
  #validate(patch: StoredSettings, names: readonly SettingName[]) {
    const valid: Record<string, unknown> = {}
    const ignored: string[] = []
    for (const [key, value] of Object.entries(patch)) {
      const name = names.find(each => each === key)
      const accepted = name && acceptValue(this.#texts, name, value)
      if (accepted === undefined) ignored.push(key)
      else valid[key] = accepted
    }
    if (valid.language !== undefined) valid.language_from ??= 'setting'
    return { valid, ignored }
  }
}
