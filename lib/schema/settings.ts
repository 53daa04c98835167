/** The settings as they are sent to clients. The file also has `password_hash`, which is in no schema. */
import { z } from 'zod'
import { SETTING_NAMES } from '../base/setting-defaults.ts'
import { type SettingName, type Settings as Values, settingOf } from '../base/settings.ts'

type Shape = { [K in SettingName]: z.ZodType<Values[K]> }

const schemaOf = (name: SettingName): z.ZodType => {
  const setting = settingOf(name)
  if (setting.type === 'choice') return z.enum(setting.choices)
  return setting.type === 'flag' ? z.boolean() : z.string()
}

const shape = Object.fromEntries(SETTING_NAMES.map(name => [name, schemaOf(name)]))

export const Settings = z.object(shape as unknown as Shape).meta({ id: 'Settings' })
export type Settings = z.infer<typeof Settings>
