/**
 * Every setting of settings.json, once: its type, its default, whose it is, and its row on the page. The schema, the validation, the
 * defaults, the rows, and the search of the settings are made from this table. Rows are shown in this order.
 */
type Row = {
  /** Everyone chooses it for themselves; the settings of the server are what they see until then. */
  personal?: true
  /** Absent: it has no row, or one that is elsewhere. */
  section?: 'general' | 'appearance'
  /** The text of the row in public/features/settings/strings.ts; absent: `settings.NAME`. */
  label?: string
  /** False: no text with `.hint` explains it. */
  hint?: false
}
export type Setting = Row &
  (
    | { type: 'flag'; default: boolean }
    | {
        type: 'choice'
        default: string
        choices: readonly string[]
        control?: 'select' | 'buttons'
        /** What the texts of the values begin with; absent: the name of the setting. */
        values?: string
      }
    /** What it accepts is a function in lib/profiles/settings.ts. */
    | { type: 'text'; default: string }
  )

export const SETTINGS = {
  default_workspace: { type: 'text', default: '' },
  onboarding_completed: { type: 'flag', default: false },
  /** The default is `Config.botName`. */
  bot_name: { type: 'text', default: 'Agent', section: 'general' },
  /** For example `en` or `pt-BR`. */
  language: {
    type: 'text',
    default: 'en',
    personal: true,
    section: 'general',
  },
  /** `browser`: the page uses the first language that the browser asks for, and `language` says `en`. */
  language_from: {
    type: 'choice',
    choices: ['browser', 'setting'],
    default: 'browser',
    personal: true,
  },
  send_key: {
    type: 'choice',
    choices: ['enter', 'ctrl+enter'],
    default: 'enter',
    personal: true,
    section: 'general',
    hint: false,
    control: 'select',
  },
  /** Session list: one line per session, or with message count and model. */
  sidebar_density: {
    type: 'choice',
    choices: ['compact', 'detailed'],
    default: 'compact',
    personal: true,
    section: 'general',
    label: 'settings.list',
    control: 'select',
    values: 'settings.list',
  },
  show_token_usage: {
    type: 'flag',
    default: false,
    personal: true,
    section: 'general',
    label: 'settings.usage',
  },
  show_thinking: { type: 'flag', default: true, section: 'general', label: 'settings.thinking' },
  show_cli_sessions: { type: 'flag', default: false, section: 'general', label: 'settings.cli' },
  sync_to_insights: {
    type: 'flag',
    default: false,
    section: 'general',
    label: 'settings.insights',
  },
  check_for_updates: { type: 'flag', default: true },
  sound_enabled: { type: 'flag', default: false },
  notifications_enabled: { type: 'flag', default: false },
  /** Any name. The page supports dark, light, mist, solarized, monokai, nord, contrast and system. */
  theme: {
    type: 'text',
    default: 'dark',
    personal: true,
    section: 'appearance',
    hint: false,
  },
  skin: {
    type: 'choice',
    choices: ['default', 'ares', 'mono', 'slate', 'poseidon', 'sisyphus', 'charizard'],
    default: 'default',
  },
  /** The color of the agent and of the primary action; `theme` is the theme's own. */
  accent: {
    type: 'choice',
    choices: ['theme', 'blue', 'violet', 'plum', 'ink'],
    default: 'theme',
    personal: true,
    section: 'appearance',
    control: 'buttons',
  },
  /** Scales all text and everything measured in it: 15, 16, 18, or 20 px for 1 rem. */
  font_size: {
    type: 'choice',
    choices: ['small', 'default', 'large', 'larger'],
    default: 'default',
    personal: true,
    section: 'appearance',
    control: 'buttons',
  },
  /** Height of rows and controls. */
  density: {
    type: 'choice',
    choices: ['comfortable', 'compact'],
    default: 'comfortable',
    personal: true,
    section: 'appearance',
    control: 'buttons',
  },
  /** The font of responses; `system` is the system's own font everywhere. */
  reading_font: {
    type: 'choice',
    choices: ['sans', 'serif', 'system'],
    default: 'sans',
    personal: true,
    section: 'appearance',
    control: 'buttons',
  },
} as const satisfies Readonly<Record<string, Setting>>

type Table = typeof SETTINGS
export type SettingName = keyof Table
type ValueOf<S> = S extends { type: 'flag' }
  ? boolean
  : S extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string
export type Settings = { -readonly [K in SettingName]: ValueOf<Table[K]> }
/** The settings with this field, such as `{ type: 'flag' }`. */
export type SettingWith<F> = { [K in SettingName]: Table[K] extends F ? K : never }[SettingName]

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]

export const settingOf = (name: SettingName): Setting => SETTINGS[name]

export const PERSONAL_SETTINGS = SETTING_NAMES.filter(name => settingOf(name).personal === true)

export const DEFAULT_SETTINGS = Object.fromEntries(
  SETTING_NAMES.map(name => [name, SETTINGS[name].default]),
) as Settings

/** The settings that are attributes of the page from its first paint on. */
export const LOOK = ['theme', 'accent', 'font_size', 'density', 'reading_font'] as const
