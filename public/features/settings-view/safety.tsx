/** What config.yaml says and the page cannot show elsewhere: safeguards that this server does not implement, changed settings, unused ones, hooks. */
import { useLoaded } from '../shell/use-loaded.ts'
import type { Api } from '../../../router.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { t } from '../settings/strings.ts'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import { formatFull } from '../../parts/relative-time.ts'
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

const Safety = () => {
  const { attempt, api, configProblems } = useShell()
  const problems = configProblems.current.value
  const [guards] = useLoaded(() => api('GET /api/guards'), [problems])
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

const ChangedSettings = () => {
  const { attempt, configProblems } = useShell()
  const { changed } = configProblems.current.value
  if (!changed) return null
  const valueText = (value: string | null) =>
    value === null ? t('settings.changed.nothing') : visibleName(value)
  const settle = (accept: boolean) =>
    void attempt(() => configProblems.settle(changed.change_id, accept))
  return (
    <Section
      title={t('settings.changed')}
      lead={t('settings.changed.text', { file: changed.file })}
      class="safeguards"
    >
      {changed.changes.map(({ key, accepted, now }) => (
        <div class="field" key={key}>
          <div class="field-text">
            <code dir="ltr">{visibleName(key)}</code>
            <p class="field-hint">
              {t('settings.changed.values', { before: valueText(accepted), now: valueText(now) })}
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
    </Section>
  )
}

const IgnoredSettings = () => {
  const { api, configProblems } = useShell()
  const problems = configProblems.current.value
  const [ignored] = useLoaded(() => api('GET /api/config/problems'), [problems])
  // Absent in an answer that an earlier version of the service kept for offline use.
  const all = ignored.value?.ignored ?? []
  if (all.length === 0) return null
  return (
    <Section title={t('settings.ignored')} lead={t('settings.ignored.text')} class="safeguards">
      {all.map(({ key, why }) => (
        <div class="field" key={key}>
          <div class="field-text">
            <code dir="ltr">{visibleName(key)}</code>
            <p class="field-hint">{why ?? t('settings.ignored.unknown')}</p>
          </div>
        </div>
      ))}
    </Section>
  )
}

type Hook = Api['GET /api/hooks']['output']['hooks'][number]

const hookHint = ({ event, matcher, last_run_at, last_failure }: Hook): string =>
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
  const { api } = useShell()
  const [hooks] = useLoaded(() => api('GET /api/hooks'))
  const all = hooks.value?.hooks ?? []
  if (all.length === 0) return null
  return (
    <Section title={t('hooks.title')} lead={t('hooks.text')}>
      {all.map((hook, index) => (
        <Row
          key={index}
          label={
            <code dir="ltr" class="allowed-rule">
              {visibleText(hook.command)}
            </code>
          }
          hint={hookHint(hook)}
          control={ids => <span id={ids.control}>{countsOf(hook)}</span>}
        />
      ))}
    </Section>
  )
}

export const SafetySettings = () => (
  <>
    <ChangedSettings />
    <Safety />
    <IgnoredSettings />
  </>
)
