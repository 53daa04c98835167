/** What is sent about each profile, where there are several. */
import { useLoaded } from '../shell/use-loaded.ts'
import type { NotificationKind } from '../../../lib/schema/notification.ts'
import { useShell } from '../../contexts.ts'
import { Section, SelectRow } from '../../parts/field.tsx'
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
  const { api } = useShell()
  const [profiles] = useLoaded(() => api('GET /api/profiles'))
  const all = profiles.value?.profiles ?? []
  if (all.length < 2) return null
  return (
    <Section title={t('notify.profiles')}>
      {all.map(({ name: profile }) => {
        const choice = choiceOf(state.profiles[profile])
        return (
          <SelectRow
            key={profile}
            label={profile}
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
        )
      })}
    </Section>
  )
}
