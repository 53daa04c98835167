/** Guards the home asks for and this service does not keep: what each closes, and doing without it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import { ts } from '../../strings/settings.ts'
import { visibleName } from '../../visible.ts'
import { useApp } from '../context.ts'

type Shown = Api['GET /api/guards']['output']['guards']

const LIST = new Intl.ListFormat('en')

export const Safety = () => {
  const app = useApp()
  const guards = useSignal<Shown>([])
  useEffect(() => {
    void app.attempt(async () => {
      guards.value = (await app.api('GET /api/guards')).guards
    })
  }, [])
  if (guards.value.length === 0) return null
  return (
    <section class="rows safeguards" aria-label={ts('settings.safety')}>
      <h3 class="settings-sub">{ts('settings.safety')}</h3>
      {guards.value.some(({ closes }) => closes.length > 0) && (
        <p class="field-hint">{ts('settings.safety.text')}</p>
      )}
      {guards.value.map(({ key, value, value_id, why, closes, accepted }) => (
        <Row
          key={key}
          label={<code dir="ltr">{visibleName(`${key}: ${value}`)}</code>}
          hint={
            closes.length === 0
              ? why
              : `${why} ${ts(accepted ? 'settings.safety.accepted' : 'settings.safety.closed', {
                  what: LIST.format(closes.map(each => ts(`settings.safety.${each}`))),
                })}`
          }
          control={ids => (
            <Button
              id={ids.control}
              aria-label={ts(
                closes.length === 0
                  ? accepted
                    ? 'settings.safety.remind.of'
                    : 'settings.safety.dismiss.of'
                  : accepted
                    ? 'settings.safety.withdraw.of'
                    : 'settings.safety.accept.of',
                {
                  key,
                },
              )}
              onClick={() =>
                void app.attempt(async () => {
                  guards.value = (await app.trouble.accept(key, value_id, !accepted)).guards
                })
              }
            >
              {ts(
                closes.length === 0
                  ? accepted
                    ? 'settings.safety.remind'
                    : 'settings.safety.dismiss'
                  : accepted
                    ? 'settings.safety.withdraw'
                    : 'settings.safety.accept',
              )}
            </Button>
          )}
        />
      ))}
    </section>
  )
}
