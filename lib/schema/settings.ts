/** Settings of the server, shared by all profiles and stored in settings.json. */
import { z } from 'zod'
import { ACCENTS, DENSITIES, FONT_SIZES, READING_FONTS } from '../base/appearance.ts'

export const SKINS = [
  'default',
  'ares',
  'mono',
  'slate',
  'poseidon',
  'sisyphus',
  'charizard',
] as const

/** Everything that is sent to clients. The file also has `password_hash`, which is in no schema. */
export const Settings = z
  .object({
    default_workspace: z.string(),
    onboarding_completed: z.boolean(),
    send_key: z.enum(['enter', 'ctrl+enter']),
    show_token_usage: z.boolean(),
    show_cli_sessions: z.boolean(),
    sync_to_insights: z.boolean(),
    check_for_updates: z.boolean(),
    /** Any name. The page supports dark, light, mist, solarized, monokai, nord, contrast and system. */
    theme: z.string(),
    skin: z.enum(SKINS),
    /** For example `en` or `pt-BR`. */
    language: z.string(),
    /** `browser`: the page uses the first language that the browser asks for, and `language` says `en`. */
    language_from: z.enum(['browser', 'setting']),
    bot_name: z.string(),
    sound_enabled: z.boolean(),
    notifications_enabled: z.boolean(),
    show_thinking: z.boolean(),
    /** Session list: one line per session, or with message count and model. */
    sidebar_density: z.enum(['compact', 'detailed']),
    /** The color of the agent and of the primary action; `theme` is the theme's own. */
    accent: z.enum(ACCENTS),
    /** Scales all text and everything measured in it: 15, 16, 18, or 20 px for 1 rem. */
    font_size: z.enum(FONT_SIZES),
    /** Height of rows and controls. */
    density: z.enum(DENSITIES),
    /** The font of responses; `system` is the system's own font everywhere. */
    reading_font: z.enum(READING_FONTS),
  })
  .meta({ id: 'Settings' })
export type Settings = z.infer<typeof Settings>

/** What each person chooses for themselves. The settings of the server are what they see until then. */
export const PERSONAL_SETTINGS = [
  'theme',
  'accent',
  'font_size',
  'density',
  'reading_font',
  'language',
  'language_from',
  'send_key',
  'sidebar_density',
  'show_token_usage',
] as const satisfies readonly (keyof Settings)[]
export type PersonalSetting = (typeof PERSONAL_SETTINGS)[number]
