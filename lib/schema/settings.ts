/** The settings of the service: one record for all profiles, kept in settings.json. */
import { z } from 'zod'

export const SKINS = [
  'default',
  'ares',
  'mono',
  'slate',
  'poseidon',
  'sisyphus',
  'charizard',
] as const

/** Everything that may cross the wire; `password_hash` stands beside it in the file and is in no schema. */
export const Settings = z
  .object({
    default_workspace: z.string(),
    onboarding_completed: z.boolean(),
    send_key: z.enum(['enter', 'ctrl+enter']),
    show_token_usage: z.boolean(),
    show_cli_sessions: z.boolean(),
    sync_to_insights: z.boolean(),
    check_for_updates: z.boolean(),
    /** Any name; the page knows dark, light, solarized, monokai, nord, system. */
    theme: z.string(),
    skin: z.enum(SKINS),
    /** Like `en` or `pt-BR`. */
    language: z.string(),
    bot_name: z.string(),
    sound_enabled: z.boolean(),
    notifications_enabled: z.boolean(),
    show_thinking: z.boolean(),
    /** The session list: one line each, or with message count and model. */
    sidebar_density: z.enum(['compact', 'detailed']),
  })
  .meta({ id: 'Settings' })
export type Settings = z.infer<typeof Settings>
