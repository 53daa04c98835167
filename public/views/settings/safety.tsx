/** Guards the home asks for and this service does not keep: what each closes, and doing without it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { Button } from '../../parts/button.tsx'
import { ts } from '../../strings/settings.ts'
import { useApp } from '../context.ts'

type Shown = Api['GET /api/guards']['output']['guards']

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
    <>
      <h3>{ts('settings.safety')}</h3>
      <p>{ts('settings.safety.text')}</p>
      {guards.value.map(({ key, value, value_id, why, closes, accepted }) => (
        <fieldset key={key} class="safety">
          <legend>
            <code>
              {key}: {value}
            </code>
          </legend>
          <p>{why}</p>
          <p>
            {ts(accepted ? 'settings.safety.accepted' : 'settings.safety.closed', {
              what: closes.map(each => ts(`settings.safety.${each}`)).join(', '),
            })}
          </p>
          <Button
            onClick={() =>
              void app.attempt(async () => {
                guards.value = (await app.trouble.accept(key, value_id, !accepted)).guards
              })
            }
          >
            {ts(accepted ? 'settings.safety.withdraw' : 'settings.safety.accept')}
          </Button>
        </fieldset>
      ))}
    </>
  )
}
