/** What is sent about each profile, where there are several. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { NotificationKind } from '../../../lib/schema/notification.ts'
import { useShell } from '../../contexts.ts'
import { Row, Select } from '../../parts/field.tsx'
import type { PartProps } from './view.tsx'
import { t } from './strings.ts'

const CHOICES: Readonly<Record<string, NotificationKind[] | null>> = {
  same: null,
  asks: ['approval', 'question', 'budget'],
  none: [],
}

const choiceOf = (kinds: readonly NotificationKind[] | undefined): string => {
  if (!kinds) return 'same'
  if (kinds.length === 0) return 'none'
  const { asks } = CHOICES
  return asks && kinds.length === asks.length && asks.every(kind => kinds.includes(kind))
    ? 'asks'
    : 'custom'
}

export const ProfileKinds = ({ state, change }: PartProps) => {
  const { attempt, api } = useShell()
  const names = useSignal<readonly string[]>([])
  useEffect(() => {
    void attempt(async () => {
      const { profiles } = await api('GET /api/profiles')
      names.value = profiles.map(({ name }) => name)
    })
  }, [])
  if (names.value.length < 2) return null
  return (
    <section class="view-part rows" aria-label={t('notify.profiles')}>
      <h3>{t('notify.profiles')}</h3>
      {names.value.map(profile => {
        const choice = choiceOf(state.profiles[profile])
        return (
          <Row
            key={profile}
            label={profile}
            control={ids => (
              <Select
                id={ids.control}
                describedBy={ids.hint}
                value={choice}
                options={[
                  ['same', t('notify.profile.same')],
                  ['asks', t('notify.profile.asks')],
                  ['none', t('notify.profile.none')],
                  ...(choice === 'custom' ? [['custom', t('notify.quiet.custom')] as const] : []),
                ]}
                onChange={value => {
                  const kinds = CHOICES[value]
                  if (kinds !== undefined)
                    void change(() => api('POST /api/notifications', { profile, kinds }))
                }}
              />
            )}
          />
        )
      })}
    </section>
  )
}
