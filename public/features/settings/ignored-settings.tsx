/** Keys of config.yaml that nothing here reads, and values that count as others: nobody should rely on them. */
import { t } from './strings.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { useShell } from '../../contexts.ts'

export const IgnoredSettings = () => {
  const { configProblems } = useShell()
  // Absent in an answer that an earlier version of the service kept for offline use.
  const ignored = configProblems.current.value.ignored ?? []
  if (ignored.length === 0) return null
  return (
    <section class="view-part rows safeguards" aria-label={t('settings.ignored')}>
      <h3>{t('settings.ignored')}</h3>
      <p class="field-hint">{t('settings.ignored.text')}</p>
      {ignored.map(({ key, why }) => (
        <div class="field" key={key}>
          <div class="field-text">
            <code dir="ltr">{visibleName(key)}</code>
            <p class="field-hint">{why ?? t('settings.ignored.unknown')}</p>
          </div>
        </div>
      ))}
    </section>
  )
}
