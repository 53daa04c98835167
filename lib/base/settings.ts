/**
 * Every setting of settings.json: its type, and its row on the page. The schema, the validation, the rows, and the search of the settings
 * are made from this table, and from the defaults in setting-defaults.ts. Rows are shown in the order of those.
 */
type SettingRow = {
  /** Absent: it has no row, or one that is elsewhere. */
  section?: 'general' | 'appearance'
  /** The text of the row in public/features/settings/strings.ts; absent: `settings.NAME`. */
  label?: string
  /** False: no text with `.hint` explains it. */
  hint?: false
}
export type Setting = SettingRow &
  (
    | { type: 'flag' }
    | {
        type: 'choice'
        choices: readonly string[]
        control?: 'select' | 'buttons'
        /** What the texts of the values begin with; absent: the name of the setting. */
        values?: string
      }
    /** What it accepts is a function in lib/profiles/settings.ts. */
    | { type: 'text' }
  )

export const SETTINGS = {
  default_workspace: { type: 'text' },
  onboarding_completed: { type: 'flag' },
  bot_name: { type: 'text', section: 'general' },
  /** For example `en` or `pt-BR`. */
  language: { type: 'text', section: 'general' },
  /** `browser`: the page uses the first language that the browser asks for, and `language` says `en`. */
  language_from: { type: 'choice', choices: ['browser', 'setting'] },
  send_key: {
    type: 'choice',
    choices: ['enter', 'ctrl+enter'],
    section: 'general',
    hint: false,
    control: 'select',
  },
  /** Session list: one line per session, or with message count and model. */
  sidebar_density: {
    type: 'choice',
    choices: ['compact', 'detailed'],
    section: 'general',
    label: 'settings.list',
    control: 'select',
    values: 'settings.list',
  },
  show_token_usage: { type: 'flag', section: 'general', label: 'settings.usage' },
  show_thinking: { type: 'flag', section: 'general', label: 'settings.thinking' },
  /** Groups of steps are open, so that each step is seen as it happens. */
  show_steps: { type: 'flag', section: 'general', label: 'settings.steps' },
  show_cli_sessions: { type: 'flag', section: 'general', label: 'settings.cli' },
  sync_to_insights: { type: 'flag', section: 'general', label: 'settings.insights' },
  check_for_updates: { type: 'flag' },
  sound_enabled: { type: 'flag' },
  notifications_enabled: { type: 'flag' },
  /** Any name. The page supports dark, light, mist, solarized, monokai, nord, contrast and system. */
  theme: { type: 'text', section: 'appearance', hint: false },
  skin: {
    type: 'choice',
    choices: ['default', 'ares', 'mono', 'slate', 'poseidon', 'sisyphus', 'charizard'],
  },
  /** The color of the agent and of the primary action; `theme` is the theme's own. */
  accent: {
    type: 'choice',
    choices: ['theme', 'blue', 'violet', 'plum', 'ink'],
    section: 'appearance',
    control: 'buttons',
  },
  /** Scales all text and everything measured in it: 15, 16, 18, or 20 px for 1 rem. */
  font_size: {
    type: 'choice',
    choices: ['small', 'default', 'large', 'larger'],
    section: 'appearance',
    control: 'buttons',
  },
  /** Height of rows and controls. */
  density: {
    type: 'choice',
    choices: ['comfortable', 'compact'],
    section: 'appearance',
    control: 'buttons',
  },
  /** The font of responses; `system` is the system's own font everywhere. */
  reading_font: {
    type: 'choice',
    choices: ['sans', 'serif', 'system'],
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

export const settingOf = (name: SettingName): Setting => SETTINGS[name]
