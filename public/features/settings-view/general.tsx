/** Settings → General and look. */
import { Select } from '../../parts/field.tsx'
import { modName } from '../shell/keys.ts'
import { LANGUAGES } from '../../../lib/base/languages.ts'
import { t } from '../settings/strings.ts'
import { type ControlProps, SettingRows } from '../settings/setting-rows.tsx'
import { shownSettings } from '../settings/shown-settings.ts'
import { useComposer, useSidebar, useSettings, useShell } from '../../contexts.ts'

const Language = ({ ids }: ControlProps) => {
  const settings = useSettings()
  const { language, language_from } = settings.current.value
  const choose = async (choice: string) => {
    if (await settings.chooseLanguage(choice)) location.reload()
  }
  return (
    <Select
      id={ids.control}
      describedBy={ids.hint}
      value={language_from === 'browser' ? 'browser' : language}
      options={[
        ['browser', t('settings.language.browser')],
        ...Object.entries(LANGUAGES).map(([tag, name]) => [tag, name] as const),
      ]}
      onChange={value => void choose(value)}
    />
  )
}

const SendKey = ({ ids }: ControlProps) => {
  const settings = useSettings()
  const { layout } = useShell()
  return (
    <Select
      id={ids.control}
      describedBy={ids.hint}
      value={settings.current.value.send_key}
      options={[
        ['enter', t('settings.send_key.enter')],
        ['ctrl+enter', t('settings.send_key.mod', { key: modName(layout.mac) })],
      ]}
      onChange={value => void settings.save('send_key', value === 'enter' ? 'enter' : 'ctrl+enter')}
    />
  )
}

export const General = () => {
  const composer = useComposer()
  const { hostSessions } = useSidebar()
  return (
    <SettingRows
      names={shownSettings('general')}
      controls={{ language: Language, send_key: SendKey }}
      switches={{
        show_thinking: on => composer.showThinking(on),
        show_cli_sessions: on => hostSessions.show(on),
      }}
    />
  )
}
