/** Settings of config.yaml that something else than the page changed: what is in force, what the file says, and the choice. */
import { Button } from '../../parts/button.tsx'
import { t } from '../settings/strings.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { useShell } from '../../contexts.ts'

export const ChangedSettings = () => {
  const { attempt, configProblems } = useShell()
  const { changed } = configProblems.current.value
  if (!changed) return null
  const shown = (value: string | null) =>
    value === null ? t('settings.changed.nothing') : visibleName(value)
  const settle = (accept: boolean) =>
    void attempt(() => configProblems.settle(changed.change_id, accept))
  return (
    <section class="view-part rows safeguards" aria-label={t('settings.changed')}>
      <h3>{t('settings.changed')}</h3>
      <p class="field-hint">{t('settings.changed.text', { file: changed.file })}</p>
      {changed.changes.map(({ key, accepted, now }) => (
        <div class="field" key={key}>
          <div class="field-text">
            <code dir="ltr">{visibleName(key)}</code>
            <p class="field-hint">
              {t('settings.changed.values', { before: shown(accepted), now: shown(now) })}
            </p>
          </div>
        </div>
      ))}
      <div class="form-actions">
        <Button asks="POST /api/guards/changes" onClick={() => settle(true)}>
          {t('settings.changed.accept')}
        </Button>
        <Button asks="POST /api/guards/changes" kind="primary" onClick={() => settle(false)}>
          {t('settings.changed.restore')}
        </Button>
      </div>
    </section>
  )
}
