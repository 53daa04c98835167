/** The hooks of config.yaml, read-only: when each runs, and how its runs ended. */
import { formatFull } from '../../parts/relative-time.ts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { useShell } from '../../contexts.ts'
import { Row } from '../../parts/field.tsx'
import { t } from '../settings/strings.ts'

type Hook = Api['GET /api/hooks']['output']['hooks'][number]

const hintOf = ({ event, matcher, last_run_at, last_failure }: Hook): string =>
  [
    matcher === '' ? event : t('hooks.when', { event, matcher: visibleText(matcher) }),
    last_run_at === null ? t('hooks.never') : t('hooks.last', { time: formatFull(last_run_at) }),
    ...(last_failure === null ? [] : [t('hooks.failure', { why: visibleText(last_failure) })]),
  ].join(' · ')

const countsOf = ({ runs, blocks, failures }: Hook): string =>
  [
    t('hooks.runs', { count: runs }),
    ...(blocks > 0 ? [t('hooks.blocks', { count: blocks })] : []),
    ...(failures > 0 ? [t('hooks.failures', { count: failures })] : []),
  ].join(' · ')

export const Hooks = () => {
  const { attempt, api } = useShell()
  const hooks = useSignal<readonly Hook[]>([])
  useEffect(() => {
    void attempt(async () => {
      hooks.value = (await api('GET /api/hooks')).hooks
    })
  }, [])
  if (hooks.value.length === 0) return null
  return (
    <section class="view-part rows" aria-label={t('hooks.title')}>
      <h3>{t('hooks.title')}</h3>
      <p class="field-hint">{t('hooks.text')}</p>
      {hooks.value.map((hook, index) => (
        <Row
          key={index}
          label={
            <code dir="ltr" class="allowed-rule">
              {visibleText(hook.command)}
            </code>
          }
          hint={hintOf(hook)}
          control={ids => <span id={ids.control}>{countsOf(hook)}</span>}
        />
      ))}
    </section>
  )
}
