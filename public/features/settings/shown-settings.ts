/** Which settings the page shows, and their texts. */
import { PERSONAL_SETTINGS, SETTING_NAMES } from '../../../lib/base/setting-defaults.ts'
import { type Setting, type SettingName, settingOf } from '../../../lib/base/settings.ts'
import { may } from '../../parts/may.ts'
import { t } from './strings.ts'

type Text = 'settings.theme'

/** `test/structure.test.ts` finds a row without its texts. */
export const settingText = (key: string): string => t(key as Text)

const keyOf = (name: SettingName): string => settingOf(name).label ?? `settings.${name}`

export const labelOf = (name: SettingName): string => settingText(keyOf(name))

/** Empty where there is none. */
export const hintOf = (name: SettingName): string =>
  settingOf(name).hint === false ? '' : settingText(`${keyOf(name)}.hint`)

/** What is not about the person is the owner's. */
export const shownSettings = (section: Setting['section']): SettingName[] =>
  SETTING_NAMES.filter(
    name =>
      settingOf(name).section === section &&
      (PERSONAL_SETTINGS.includes(name) || may('POST /api/settings')),
  )
