/** The settings before anything is known of them. Apart from their table, because every page begins with them. */
import type { SettingName, Settings } from './settings.ts'

export const DEFAULT_SETTINGS: Settings = {
  default_workspace: '',
  onboarding_completed: false,
  /** The server's default is `Config.botName`. */
  bot_name: 'Agent',
  language: 'en',
  language_from: 'browser',
  send_key: 'enter',
  sidebar_density: 'compact',
  show_token_usage: false,
  show_thinking: true,
  show_steps: false,
  show_cli_sessions: false,
  sync_to_insights: false,
  check_for_updates: true,
  sound_enabled: false,
  notifications_enabled: false,
  theme: 'dark',
  skin: 'default',
  accent: 'theme',
  font_size: 'default',
  density: 'comfortable',
  reading_font: 'sans',
}

export const SETTING_NAMES = Object.keys(DEFAULT_SETTINGS) as SettingName[]

/** The settings that are attributes of the page from its first paint on. */
export const LOOK = ['theme', 'accent', 'font_size', 'density', 'reading_font'] as const

/** What everyone chooses for themselves. The settings of the server are what they see until then. */
export const PERSONAL_SETTINGS: readonly SettingName[] = [
  ...LOOK,
  'language',
  'language_from',
  'send_key',
  'sidebar_density',
  'show_token_usage',
  'show_steps',
]
