/** Name, default model, how a message is sent, what is shown. */
import { Select, Switch } from '../../parts/field.tsx'
import { modName } from '../../keys.ts'
import { t } from '../../strings/t.ts'
import { useApp } from '../context.ts'
import { SavedRow } from './saved-row.tsx'

const DefaultModel = () => {
  const app = useApp()
  const { models, settings } = app
  const current = models.fallback.value
  const known = models.all.value.some(({ id }) => id === current)
  const choose = async (id: string) => {
    settings.mark('default_model', 'saving')
    try {
      await models.setDefault(id)
      settings.settle('default_model', 'saved')
    } catch (error) {
      settings.settle('default_model', 'failed')
      app.toasts.fail(error)
    }
  }
  return (
    <SavedRow
      name="default_model"
      label={t('settings.default_model')}
      hint={t('settings.default_model.hint')}
      control={ids => (
        <select
          id={ids.control}
          class="select"
          aria-describedby={ids.hint}
          value={current}
          disabled={!models.loaded.value}
          onChange={event => void choose(event.currentTarget.value)}
        >
          {!known && (
            <option value={current} selected>
              {models.labelOf(current) || '—'}
            </option>
          )}
          {models.groups.value.map(group => (
            <optgroup key={group.provider_id} label={group.provider}>
              {group.models.map(model => (
                <option key={model.id} value={model.id} selected={model.id === current}>
                  {model.label}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      )}
    />
  )
}

const Toggle = ({ name }: { name: 'show_token_usage' | 'show_thinking' }) => {
  const app = useApp()
  const text = name === 'show_thinking' ? 'settings.thinking' : 'settings.usage'
  const set = (on: boolean) =>
    name === 'show_thinking' ? app.showThinking(on) : app.settings.save(name, on)
  return (
    <SavedRow
      name={name}
      label={t(text)}
      hint={t(`${text}.hint`)}
      control={ids => (
        <Switch
          id={ids.control}
          describedBy={ids.hint}
          checked={app.settings.current.value[name]}
          onChange={on => void app.attempt(() => set(on))}
        />
      )}
    />
  )
}

export const General = () => {
  const { settings, layout } = useApp()
  const current = settings.current.value
  return (
    <div class="rows">
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
            value={current.bot_name}
            onChange={event => void settings.save('bot_name', event.currentTarget.value)}
          />
        )}
      />
      <DefaultModel />
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
        label={t('settings.density')}
        hint={t('settings.density.hint')}
        control={ids => (
          <Select
            id={ids.control}
            describedBy={ids.hint}
            value={current.sidebar_density}
            options={[
              ['compact', t('settings.density.compact')],
              ['detailed', t('settings.density.detailed')],
            ]}
            onChange={value =>
              void settings.save('sidebar_density', value === 'detailed' ? 'detailed' : 'compact')
            }
          />
        )}
      />
      <Toggle name="show_token_usage" />
      <Toggle name="show_thinking" />
    </div>
  )
}
