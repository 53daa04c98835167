/** The settings row for the default model. */
import { t } from '../settings/strings.ts'
import { SavedRow } from '../settings/saved-row.tsx'
import { useModels, useSettings, useShell } from '../../contexts.ts'

export const DefaultModel = () => {
  const models = useModels()
  const settings = useSettings()
  const { toasts } = useShell()
  const current = models.defaultId.value
  const known = models.all.value.some(({ id }) => id === current)
  const choose = async (id: string) => {
    settings.setSaveStatus('default_model', 'saving')
    try {
      await models.setDefault(id)
      settings.finishSave('default_model', 'saved')
    } catch (error) {
      settings.finishSave('default_model', 'failed')
      toasts.showError(error)
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
