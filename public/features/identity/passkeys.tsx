/** Settings → Access: the passkeys, adding one, renaming and deleting them. */
import { useLoaded } from '../shell/use-loaded.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { useSignal } from '@preact/signals'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { confirmed } from './confirm-password.tsx'
import { deviceName } from './device-name.ts'
import { RenameForm } from './rename-form.tsx'
import { t } from './strings.ts'

type List = Api['POST /api/auth/passkeys']['output']
type Passkey = List['passkeys'][number]

const nameOf = ({ name }: Passkey): string => visibleName(name) || t('passkeys.unnamed')

const hintOf = ({ host, created_at, last_used_at }: Passkey): string =>
  [
    host,
    last_used_at === null
      ? t('passkeys.unused')
      : t('passkeys.used', { time: formatFull(last_used_at) }),
    t('passkeys.created', { time: formatFull(created_at) }),
  ].join(' · ')

/** Why this page cannot add one; empty when it can. */
const obstacle = ({ usable }: List): string => {
  if (!usable) return t('passkeys.nohost')
  return 'PublicKeyCredential' in window ? '' : t('passkeys.insecure')
}

const isClosed = (error: unknown): boolean =>
  error instanceof Error && /^(NotAllowedError|AbortError)$/.test(error.name)

export const Passkeys = () => {
  const shell = useShell()
  const { attempt, api, layout, toasts } = shell
  const [list, load] = useLoaded(() => api('POST /api/auth/passkeys', {}))
  const renaming = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const reply = list.value
  if (!reply) return null

  const create = async () => {
    const { startRegistration } = await import('@simplewebauthn/browser')
    const options = await confirmed(shell, password =>
      api('POST /api/auth/passkey/register/options', { password }),
    )
    if (!options) return
    let response: Awaited<ReturnType<typeof startRegistration>>
    try {
      response = await startRegistration({ optionsJSON: options as never })
    } catch (error) {
      // The person closed the dialog of the browser.
      if (isClosed(error)) return
      const isKnown = error instanceof Error && error.name === 'InvalidStateError'
      throw isKnown ? new Error(t('passkeys.known')) : error
    }
    const name = deviceName(navigator.userAgent)
    await api('POST /api/auth/passkey/register', {
      name,
      response: { ...response, response: { ...response.response } },
    })
    await load()
  }

  const add = async () => {
    isBusy.value = true
    await attempt(create)
    isBusy.value = false
  }

  const remove = (key: Passkey) => {
    layout.confirmation.value = {
      title: t('passkeys.delete.title', { name: nameOf(key) }),
      text: t('passkeys.delete.text'),
      confirm: t('passkeys.delete'),
      danger: true,
      async run() {
        const result = await confirmed(shell, password =>
          api('POST /api/auth/passkey/delete', { id: key.id, password }),
        )
        if (!result) return
        toasts.show(t('passkeys.deleted'))
        await load()
      },
    }
  }

  const why = obstacle(reply)
  return (
    <Section title={t('passkeys.title')}>
      <Row
        label={t('passkeys.add')}
        hint={why || t('passkeys.text')}
        control={ids => (
          <Button
            id={ids.control}
            disabled={why !== '' || isBusy.value}
            aria-describedby={ids.hint}
            onClick={() => void add()}
          >
            {t('passkeys.add')}
          </Button>
        )}
      />
      {reply.passkeys.map(key =>
        key.id === renaming.value ? (
          <RenameForm
            key={key.id}
            name={nameOf(key)}
            save={name => api('POST /api/auth/passkey/rename', { id: key.id, name })}
            onDone={() => {
              renaming.value = null
              void load()
            }}
          />
        ) : (
          <Row
            key={key.id}
            label={nameOf(key)}
            hint={hintOf(key)}
            control={ids => (
              <>
                <IconButton
                  icon="edit"
                  label={t('passkeys.rename', { name: nameOf(key) })}
                  onClick={() => {
                    renaming.value = key.id
                  }}
                />
                <Button
                  id={ids.control}
                  kind="danger"
                  aria-label={t('passkeys.delete.what', { name: nameOf(key) })}
                  onClick={() => remove(key)}
                >
                  {t('passkeys.delete')}
                </Button>
              </>
            )}
          />
        ),
      )}
    </Section>
  )
}
