/** The settings row for the default model. */
import { t } from '../settings/strings.ts'
import { SavedRow } from '../settings/saved-row.tsx'
import { ModelPick } from './model-list.tsx'
import { useModels, useSettings, useShell } from '../../contexts.ts'

export const DefaultModel = () => {
  const models = useModels()
  const settings = useSettings()
  const { toasts } = useShell()
  const current = models.defaultId.value
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
        <ModelPick
          id={ids.control}
          describedBy={ids.hint}
          label={t('settings.default_model')}
          selected={current}
          disabled={!models.isLoaded.value}
          onPick={id => void choose(id)}
        />
      )}
    />
  )
}
