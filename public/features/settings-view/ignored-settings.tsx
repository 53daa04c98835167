/** Keys of config.yaml that nothing here reads, and values that count as others: nobody should rely on them. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { t } from '../settings/strings.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { useShell } from '../../contexts.ts'

type Ignored = Api['GET /api/config/problems']['output']['ignored']

export const IgnoredSettings = () => {
  const { attempt, api, configProblems } = useShell()
  const ignored = useSignal<Ignored>([])
  const known = configProblems.current.value
  useEffect(() => {
    void attempt(async () => {
      // Absent in an answer that an earlier version of the service kept for offline use.
      ignored.value = (await api('GET /api/config/problems')).ignored ?? []
    })
  }, [known])
  if (ignored.value.length === 0) return null
  return (
    <section class="view-part rows safeguards" aria-label={t('settings.ignored')}>
      <h3>{t('settings.ignored')}</h3>
      <p class="field-hint">{t('settings.ignored.text')}</p>
      {ignored.value.map(({ key, why }) => (
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
