/** ntfy, Gotify and webhooks: those that are set up, and a form to add one. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { NotificationServiceType } from '../../../lib/schema/notification.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Section } from '../../parts/field.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import type { PartProps } from './view.tsx'
import { ReceiverRow } from './receivers.tsx'
import { t } from './strings.ts'

const TYPES = ['ntfy', 'gotify', 'webhook'] as const

type NewServiceProps = PartProps & {
  onSecret: (secret: string | null) => void
  onDone: () => void
}

const NewService = ({ state, change, onSecret, onDone }: NewServiceProps) => {
  const { api, toasts } = useShell()
  const type = useSignal<NotificationServiceType>('ntfy')
  const url = useSignal('https://ntfy.sh')
  const topic = useSignal('')
  const secret = useSignal('')
  const pick = (next: NotificationServiceType) => {
    if (url.value === '' || url.value === 'https://ntfy.sh')
      url.value = next === 'ntfy' ? 'https://ntfy.sh' : ''
    type.value = next
  }
  const isReady =
    url.value.trim() !== '' &&
    (type.value !== 'ntfy' || topic.value.trim() !== '') &&
    (type.value !== 'gotify' || secret.value.trim() !== '')

  const submit = () =>
    change(async () => {
      const reply = await api('POST /api/notifications/services', {
        type: type.value,
        url: url.value,
        ...(type.value === 'ntfy' && { topic: topic.value }),
        ...(type.value !== 'webhook' && secret.value.trim() && { secret: secret.value }),
      })
      onSecret(reply.secret)
      onDone()
      toasts.show(t('notify.added', { name: t(`notify.${type.value}`) }))
      // Links need an address; the one in use here is the best guess.
      return state.settings.base_url
        ? reply
        : api('POST /api/notifications', {
            settings: { base_url: new URL('.', document.baseURI).href },
          })
    })

  return (
    <Form submit={t('notify.add')} isIncomplete={!isReady} onSubmit={submit} onCancel={onDone}>
      <SelectField
        label={t('notify.type')}
        value={type.value}
        options={TYPES.map(each => [each, t(`notify.${each}`)] as const)}
        onChange={pick}
      />
      <TextField
        label={t('notify.url')}
        hint={t(`notify.url.${type.value}`)}
        type="url"
        dir="ltr"
        text={url}
      />
      {type.value === 'ntfy' && (
        <TextField
          label={t('notify.topic')}
          hint={t('notify.topic.hint')}
          dir="ltr"
          maxLength={64}
          text={topic}
        />
      )}
      {type.value !== 'webhook' && (
        <TextField
          label={t(`notify.token.${type.value}`)}
          {...(type.value === 'ntfy' && { hint: t('notify.token.ntfy.hint') })}
          type="password"
          autocomplete="off"
          dir="ltr"
          text={secret}
        />
      )}
    </Form>
  )
}

export const Services = ({
  state,
  change,
  children,
}: PartProps & { children: ComponentChildren }) => {
  const isAdding = useSignal(false)
  const secret = useSignal<string | null>(null)
  return (
    <Section title={t('notify.services')} lead={t('notify.services.text')}>
      {secret.value && (
        <div class="api-secret" role="status">
          <p>{t('notify.secret')}</p>
          <div class="api-secret-line">
            <code dir="ltr">{secret.value}</code>
            <CopyButton text={secret.value} label={t('notify.secret.copy')} />
          </div>
          <p class="field-hint">{t('notify.secret.hint')}</p>
        </div>
      )}
      {state.services.map(service => (
        <ReceiverRow
          key={service.id}
          receiver={service}
          name={t(`notify.${service.type}`)}
          place={service.topic ? `${service.url} · ${service.topic}` : service.url}
          change={change}
        />
      ))}
      {children}
      {isAdding.value ? (
        <NewService
          state={state}
          change={change}
          onSecret={value => {
            secret.value = value
          }}
          onDone={() => {
            isAdding.value = false
          }}
        />
      ) : (
        <div class="button-row">
          <Button
            onClick={() => {
              secret.value = null
              isAdding.value = true
            }}
          >
            {t('notify.add')}
          </Button>
        </div>
      )}
    </Section>
  )
}
