/** Safeguards that config.yaml asks for and this server does not implement: what each blocks, and accepting its absence. */
import { useLoaded } from '../shell/use-loaded.ts'
import type { Api } from '../../../router.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { t } from '../settings/strings.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { useShell } from '../../contexts.ts'

type Guard = Api['GET /api/guards']['output']['guards'][number]

/** A safeguard that blocks nothing can only be dismissed. */
const verbOf = ({ closes, accepted }: Guard) => {
  if (closes.length === 0) return accepted ? 'remind' : 'dismiss'
  return accepted ? 'withdraw' : 'accept'
}

const hintOf = ({ why, closes, accepted }: Guard): string => {
  if (closes.length === 0) return why
  const what = closes.map(each => t(`settings.safety.${each}`))
  return `${why} ${t(accepted ? 'settings.safety.accepted' : 'settings.safety.closed', { what })}`
}

export const Safety = () => {
  const { attempt, api, configProblems } = useShell()
  const known = configProblems.current.value
  const [guards] = useLoaded(() => api('GET /api/guards'), [known])
  const all = guards.value?.guards ?? []
  if (all.length === 0) return null
  const toRow = (guard: Guard) => {
    const { key, value, value_id, accepted } = guard
    const verb = verbOf(guard)
    return (
      <Row
        key={key}
        label={<code dir="ltr">{visibleName(`${key}: ${value}`)}</code>}
        hint={hintOf(guard)}
        control={ids => (
          <Button
            id={ids.control}
            aria-label={t(`settings.safety.${verb}.of`, { key })}
            onClick={() =>
              void attempt(async () => {
                guards.value = await configProblems.accept(key, value_id, !accepted)
              })
            }
          >
            {t(`settings.safety.${verb}`)}
          </Button>
        )}
      />
    )
  }
  const closing = all.filter(({ closes }) => closes.length > 0)
  const notes = all.filter(({ closes }) => closes.length === 0)
  return (
    <Section title={t('settings.safety')} class="safeguards">
      {closing.length > 0 && <p class="field-hint">{t('settings.safety.text')}</p>}
      {closing.map(toRow)}
      {notes.length > 0 && <p class="field-hint">{t('settings.safety.notes')}</p>}
      {notes.map(toRow)}
    </Section>
  )
}
