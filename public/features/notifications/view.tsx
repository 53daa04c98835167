/** Settings → Notifications: this device, what is sent and when, all devices, and services. Every change is saved at once. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { isPageAddress } from '../../../lib/base/page-address.ts'
import type { NotificationKind, NotificationSettings } from '../../../lib/schema/notification.ts'
import { useShell } from '../../contexts.ts'
import { Row, Section, SelectRow, SwitchRow } from '../../parts/field.tsx'
import { Field } from '../../parts/form.tsx'
import { may } from '../../parts/may.ts'
import type { LoadState } from '../../parts/load-state.ts'
import { LoadNote } from '../../parts/view-state.tsx'
import { Receivers } from './receivers.tsx'
import { Services } from './services.tsx'
import { t } from './strings.ts'
import {
  deviceHere,
  type NotificationState,
  subscribeHere,
  supportHere,
  unsubscribeHere,
} from './this-device.ts'
import { useLoaded } from '../shell/use-loaded.ts'

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

/** What is sent about each profile, where there are several. */
const ProfileKinds = ({ state, change }: PartProps) => {
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

const KINDS = [
  ['approval', 'notify.approval', 'notify.approval.hint'],
  ['question', 'notify.question', 'notify.question.hint'],
  ['finished', 'notify.finished', undefined],
  ['failed', 'notify.failed.turn', undefined],
  ['budget', 'notify.budget', undefined],
  ['task_failed', 'notify.task_failed', undefined],
  ['task_done', 'notify.task_done', undefined],
] as const

const ASKS: readonly NotificationKind[] = ['approval', 'question', 'budget']

export type PartProps = {
  state: NotificationState
  /** Shows what the server replied; throws into the toast. */
  change: (work: () => Promise<NotificationState>) => Promise<void>
}
type SettingsProps = {
  settings: NotificationSettings
  save: (patch: Partial<NotificationSettings>) => void
}

const ThisDevice = ({ here, change }: { here: string | null } & Pick<PartProps, 'change'>) => {
  const shell = useShell()
  const { api, toasts } = shell
  const support = supportHere()
  const isOn = here !== null
  const turn = (on: boolean) =>
    void change(async () => {
      if (on) {
        const state = await subscribeHere(shell)
        toasts.show(t('notify.enabled'))
        return state
      }
      await unsubscribeHere()
      const state = await api('POST /api/notifications/remove', { id: here ?? '' })
      toasts.show(t('notify.disabled'))
      return state
    })
  return (
    <Section title={t('notify.device')}>
      <SwitchRow
        label={t('notify.on')}
        hint={support === 'ok' ? t('notify.on.hint') : t(`notify.${support}`)}
        checked={isOn}
        disabled={support !== 'ok' && !isOn}
        onChange={turn}
      />
    </Section>
  )
}

const Kinds = ({ settings, save }: SettingsProps) => (
  <Section title={t('notify.kinds')} lead={t('notify.looking')}>
    {KINDS.map(([kind, label, hint]) => (
      <SwitchRow
        key={kind}
        label={t(label)}
        hint={hint && t(hint)}
        checked={settings.kinds.includes(kind)}
        onChange={on => {
          const others = settings.kinds.filter(each => each !== kind)
          save({ kinds: on ? [...others, kind] : others })
        }}
      />
    ))}
  </Section>
)

const Privacy = ({ settings, save }: SettingsProps) => (
  <Section title={t('notify.privacy')}>
    <SwitchRow
      label={t('notify.content')}
      hint={t('notify.content.hint')}
      checked={settings.content}
      onChange={content => save({ content })}
    />
    <SwitchRow
      label={t('notify.risky')}
      hint={t('notify.risky.hint')}
      checked={settings.allow_risky}
      onChange={allow_risky => save({ allow_risky })}
    />
  </Section>
)

const urgentOf = ({ urgent }: NotificationSettings): 'none' | 'asks' | 'custom' => {
  if (urgent.length === 0) return 'none'
  const isAsks = urgent.length === ASKS.length && ASKS.every(kind => urgent.includes(kind))
  return isAsks ? 'asks' : 'custom'
}

/** The zone is that of the browser in which the hours were changed last. */
const Quiet = ({ settings, save }: SettingsProps) => {
  const { quiet } = settings
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const change = (patch: Partial<typeof quiet>) =>
    save({ quiet: { ...quiet, zone: timeZone, ...patch } })
  const urgent = urgentOf(settings)
  return (
    <Section title={t('notify.quiet')}>
      <SwitchRow
        label={t('notify.quiet.on')}
        hint={t('notify.quiet.hint', { zone: quiet.enabled ? quiet.zone : timeZone })}
        checked={quiet.enabled}
        onChange={enabled => change({ enabled })}
      />
      {quiet.enabled && (
        <>
          {(['from', 'to'] as const).map(end => (
            <Row
              key={end}
              label={t(`notify.quiet.${end}`)}
              control={ids => (
                <input
                  id={ids.control}
                  class="input"
                  type="time"
                  required
                  value={quiet[end]}
                  onChange={event => {
                    const { value, validity } = event.currentTarget
                    if (validity.valid) change({ [end]: value.slice(0, 5) })
                  }}
                />
              )}
            />
          ))}
          <SelectRow
            label={t('notify.quiet.urgent')}
            value={urgent}
            options={[
              ['none', t('notify.quiet.none')],
              ['asks', t('notify.quiet.asks')],
              ...(urgent === 'custom' ? [['custom', t('notify.quiet.custom')] as const] : []),
            ]}
            onChange={value => {
              if (value !== 'custom') save({ urgent: value === 'asks' ? [...ASKS] : [] })
            }}
          />
        </>
      )}
    </Section>
  )
}

const BaseAddress = ({ settings, save }: SettingsProps) => {
  const isBad = useSignal(false)
  return (
    <Field
      label={t('notify.base')}
      hint={t('notify.base.hint')}
      error={isBad.value ? t('notify.base.bad') : undefined}
      control={({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          class="input"
          type="url"
          dir="ltr"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={isInvalid}
          aria-describedby={describedBy}
          placeholder={document.baseURI}
          defaultValue={settings.base_url}
          onChange={event => {
            const value = event.currentTarget.value.trim()
            isBad.value = value !== '' && !isPageAddress(value)
            if (!isBad.value) save({ base_url: value })
          }}
        />
      )}
    />
  )
}

export const Notifications = () => {
  const { attempt, api } = useShell()
  const state = useSignal<NotificationState | null>(null)
  const here = useSignal<string | null>(null)
  const loading = useSignal<LoadState>('loading')

  const load = async () => {
    loading.value = 'loading'
    try {
      here.value = await deviceHere()
      state.value = await api('GET /api/notifications')
      loading.value = 'ready'
    } catch {
      loading.value = 'failed'
    }
  }
  useEffect(() => void load(), [])
  const view = state.value
  if (!view)
    return (
      <LoadNote state={loading.value} failed={t('notify.failed')} onRetry={() => void load()} />
    )

  const change: PartProps['change'] = async work => {
    await attempt(async () => {
      state.value = await work()
    })
    here.value = await deviceHere()
    // Rendered again also when it failed: a switch that was pressed shows what is stored, not what was wanted.
    if (state.value) state.value = { ...state.value }
  }
  const save = (settings: Partial<NotificationSettings>) =>
    void change(() => api('POST /api/notifications', { settings }))
  const { settings } = view
  /** What is sent when is the same for everyone; devices are the person's own. */
  const maySave = may('POST /api/notifications')
  const isKnown = view.devices.some(({ id }) => id === here.value)

  return (
    <>
      <p class="view-lead">{t('notify.lead')}</p>
      <ThisDevice here={isKnown ? here.value : null} change={change} />
      {maySave && (
        <>
          <Kinds settings={settings} save={save} />
          <Quiet settings={settings} save={save} />
          <Privacy settings={settings} save={save} />
        </>
      )}
      <Receivers state={view} here={here.value} change={change} />
      {maySave && (
        <>
          <Services state={view} change={change}>
            {view.services.length > 0 && <BaseAddress settings={settings} save={save} />}
          </Services>
          <ProfileKinds state={view} change={change} />
        </>
      )}
    </>
  )
}
