/** Sign-in dialog for an expired session. Drafts are kept and pending requests continue afterwards. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useSettings, useShell } from '../../contexts.ts'
import { urlOf, ApiError, type ApiCall } from '../../api.ts'
import { t } from './strings.ts'

/** Its name; null without one, or when that cannot be found out. */
const providerOf = async (api: ApiCall): Promise<string | null> => {
  try {
    return (await api('GET /api/auth/status')).provider ?? null
  } catch (error) {
    // No connection: the password remains.
    if (error instanceof ApiError) return null
    throw error
  }
}

/** Whether there is a passkey for the address of this page. False when that cannot be found out. */
const offersPasskey = async (api: ApiCall): Promise<boolean> => {
  if (!('PublicKeyCredential' in window)) return false
  try {
    return (await api('POST /api/auth/passkey/options', {})).offered
  } catch (error) {
    // An address without a host name, or no connection: the password remains.
    if (error instanceof ApiError) return false
    throw error
  }
}

/** False: the person closed the dialog of the browser. */
const signInWithPasskey = async (api: ApiCall): Promise<boolean> => {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const { offered: _, ...options } = await api('POST /api/auth/passkey/options', {})
  let assertion: Awaited<ReturnType<typeof startAuthentication>>
  try {
    assertion = await startAuthentication({ optionsJSON: options as never })
  } catch (error) {
    if (error instanceof Error && /^(NotAllowedError|AbortError)$/.test(error.name)) return false
    throw error
  }
  const response = { ...assertion, response: { ...assertion.response } }
  await api('POST /api/auth/passkey/login', { response })
  return true
}

export const SignIn = () => {
  const { auth, api, base } = useShell()
  const settings = useSettings()
  const field = useRef<HTMLInputElement>(null)
  const code = useRef<HTMLInputElement>(null)
  const id = useId()
  const hasPasskey = useSignal(false)
  const provider = useSignal<string | null>(null)
  useEffect(() => {
    void offersPasskey(api).then(isOffered => {
      hasPasskey.value = isOffered
    })
    void providerOf(api).then(name => {
      provider.value = name
    })
    const others = new BroadcastChannel(`agent-webui:signed-in:${new URL(base).pathname}`)
    others.onmessage = () => void auth.resume()
    return () => others.close()
  }, [])
  /** In another tab, so that this page keeps what it was doing. It reports back through the channel. */
  const openProvider = () => {
    const url = urlOf(base, 'login#oidc=tab')
    if (!window.open(url)) location.assign(url)
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    const result = await auth.signIn(
      field.current?.value ?? '',
      code.current?.value || undefined,
      settings.person.value?.name,
    )
    if (result) return
    const next = auth.needsCode.value ? code : field
    next.current?.select()
  }
  return (
    <Dialog title={t('signin.title')}>
      <form class="form" onSubmit={event => void submit(event)}>
        <p>{t('signin.text')}</p>
        <div class="form-field">
          <label for={id}>{t('signin.password')}</label>
          <input
            ref={field}
            id={id}
            class="input"
            type="password"
            autocomplete="current-password"
            required
            aria-invalid={auth.error.value !== null}
            aria-describedby={`${id}-error`}
          />
        </div>
        {auth.needsCode.value && (
          <div class="form-field">
            <label for={`${id}-code`}>{t('signin.code')}</label>
            <input
              ref={code}
              id={`${id}-code`}
              class="input"
              dir="ltr"
              autocomplete="one-time-code"
              required
              autofocus
              aria-describedby={`${id}-error`}
            />
          </div>
        )}
        <p id={`${id}-error`} class="form-error" role="alert">
          {auth.error.value}
        </p>
        <div class="form-actions">
          {provider.value !== null && (
            <Button disabled={auth.busy.value} onClick={openProvider}>
              {t('signin.with', { name: provider.value })}
            </Button>
          )}
          {hasPasskey.value && (
            <Button
              disabled={auth.busy.value}
              onClick={() => void auth.attempt(() => signInWithPasskey(api))}
            >
              {t('signin.passkey')}
            </Button>
          )}
          <Button kind="primary" type="submit" disabled={auth.busy.value}>
            {t('signin.submit')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
