/** Settings → General. */
import { Select, Switch } from '../../parts/field.tsx'
import { may } from '../../parts/may.ts'
import { modName } from '../shell/keys.ts'
import { LANGUAGES } from '../../../lib/base/languages.ts'
import { t } from '../settings/strings.ts'
import { SavedRow } from '../settings/saved-row.tsx'
import { useComposer, useSettings, useShell, useSidebar } from '../../contexts.ts'

const TOGGLES = {
  show_token_usage: 'settings.usage',
  show_thinking: 'settings.thinking',
  show_cli_sessions: 'settings.cli',
  sync_to_insights: 'settings.insights',
} as const

const Toggle = ({ name }: { name: keyof typeof TOGGLES }) => {
  const composer = useComposer()
  const { hostSessions } = useSidebar()
  const settings = useSettings()
  const { attempt } = useShell()
  const text = TOGGLES[name]
  const set = (on: boolean) => {
    if (name === 'show_thinking') return composer.showThinking(on)
    if (name === 'show_cli_sessions') return hostSessions.show(on)
    return settings.save(name, on)
  }
  return (
    <SavedRow
      name={name}
      label={t(text)}
      hint={t(`${text}.hint`)}
      control={ids => (
        <Switch
          id={ids.control}
          describedBy={ids.hint}
          checked={settings.current.value[name]}
          onChange={on => void attempt(() => set(on))}
        />
      )}
    />
  )
}

const Name = () => {
  const settings = useSettings()
  return (
    <SavedRow
      name="bot_name"
      label={t('settings.bot_name')}
      hint={t('settings.bot_name.hint')}
      control={ids => (
        <input
          id={ids.control}
          class="input"
          aria-describedby={ids.hint}
          maxLength={64}
          value={settings.current.value.bot_name}
          onChange={event => void settings.save('bot_name', event.currentTarget.value)}
        />
      )}
    />
  )
}

export const General = () => {
  const settings = useSettings()
  const { layout } = useShell()
  const current = settings.current.value
  // What is not about the person is the owner's.
  const isOwner = may('POST /api/settings')
  const chooseLanguage = async (choice: string) => {
    if (await settings.chooseLanguage(choice)) location.reload()
  }
  return (
    <div class="rows">
      {isOwner && <Name />}
      <SavedRow
        name="language"
        label={t('settings.language')}
        hint={t('settings.language.hint')}
        control={ids => (
          <Select
            id={ids.control}
            describedBy={ids.hint}
            value={current.language_from === 'browser' ? 'browser' : current.language}
            options={[
              ['browser', t('settings.language.browser')],
              ...Object.entries(LANGUAGES).map(([tag, name]) => [tag, name] as const),
            ]}
            onChange={value => void chooseLanguage(value)}
          />
        )}
      />
      <SavedRow
        name="send_key"
        label={t('settings.send_key')}
        control={ids => (
          <Select
            id={ids.control}
            describedBy={ids.hint}
            value={current.send_key}
            options={[
              ['enter', t('settings.send_key.enter')],
              ['ctrl+enter', t('settings.send_key.mod', { key: modName(layout.mac) })],
            ]}
            onChange={value =>
              void settings.save('send_key', value === 'enter' ? 'enter' : 'ctrl+enter')
            }
          />
        )}
      />
      <SavedRow
        name="sidebar_density"
        label={t('settings.list')}
        hint={t('settings.list.hint')}
        control={ids => (
          <Select
            id={ids.control}
            describedBy={ids.hint}
            value={current.sidebar_density}
            options={[
              ['compact', t('settings.list.compact')],
              ['detailed', t('settings.list.detailed')],
            ]}
            onChange={value =>
              void settings.save('sidebar_density', value === 'detailed' ? 'detailed' : 'compact')
            }
          />
        )}
      />
      <Toggle name="show_token_usage" />
      {isOwner && (
        <>
          <Toggle name="show_thinking" />
          <Toggle name="show_cli_sessions" />
          <Toggle name="sync_to_insights" />
        </>
      )}
    </div>
  )
}
