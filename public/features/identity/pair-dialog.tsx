/** Dialog with a QR code and a link that sign one more device in, once, within five minutes. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormActions, TextField } from '../../parts/form.tsx'
import { confirmed, type Shell } from './confirm-password.tsx'
import { QrCode } from './qr-code.tsx'
import { t } from './strings.ts'

type Pairing = Api['POST /api/auth/pair/create']['output'] & {
  /** Of `clock.monotonic()`. */
  endsAt: number
}

const POLL_MS = 1_000
const isLocal = (host: string): boolean =>
  /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(host)

/** The base URL that a person typed; undefined when it is none. */
const toBase = (text: string): URL | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password) return undefined
  url.search = ''
  url.hash = ''
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

const linkOf = (base: URL, code: string): string => new URL(`login#pair=${code}`, base).href

const minutes = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

const noteOn = (base: URL | undefined): string => {
  if (!base) return t('pair.address.invalid')
  if (isLocal(base.hostname)) return t('pair.address.local', { host: base.hostname })
  return base.protocol === 'http:' ? t('pair.address.http') : ''
}

const Waiting = ({ pairing, seconds }: { pairing: Pairing; seconds: number }) => {
  const own = document.baseURI
  const addresses = [...new Set([own, ...pairing.addresses])]
  const reachable = addresses.filter(each => !isLocal(new URL(each).hostname))
  const address = useSignal(reachable[0] ?? own)
  const base = toBase(address.value)
  const isOpenable = base !== undefined && !isLocal(base.hostname)
  const note = noteOn(base)
  return (
    <>
      <p>{t('pair.lead')}</p>
      <TextField
        label={t('pair.address')}
        type="url"
        dir="ltr"
        options={reachable}
        hint={isOpenable ? note : undefined}
        error={isOpenable ? undefined : note}
        text={address}
      />
      {isOpenable && (
        <div class="pair-link">
          <QrCode text={linkOf(base, pairing.code)} label={t('pair.code')} />
          <CopyButton text={linkOf(base, pairing.code)} label={t('pair.copy')} />
        </div>
      )}
      <p class="field-hint" role="timer">
        {t('pair.left', { time: minutes(seconds) })}
      </p>
    </>
  )
}

type Status = Api['GET /api/auth/pair/status']['output']
type DialogProps = { pairing: Pairing; onAgain: () => void; onClose: (isPaired: boolean) => void }

const PairDialog = ({ pairing, onAgain, onClose }: DialogProps) => {
  const { api, platform } = useShell()
  const { clock } = platform
  const status = useSignal<Status>({ state: 'waiting' })
  const leftNow = () => Math.max(0, Math.round((pairing.endsAt - clock.monotonic()) / 1_000))
  const seconds = useSignal(leftNow())

  useEffect(() => {
    let isOpen = true
    const poll = async () => {
      seconds.value = leftNow()
      try {
        status.value = await api('GET /api/auth/pair/status', { id: pairing.id })
      } catch {
        // Offline: the next poll tries again.
      }
      if (isOpen && status.value.state === 'waiting') clock.timer(POLL_MS, () => void poll())
    }
    void poll()
    return () => {
      isOpen = false
    }
  }, [pairing])

  const { state, name } = status.value
  const close = () => {
    if (state === 'waiting')
      // It expires by itself when this fails.
      api('POST /api/auth/pair/cancel', { id: pairing.id }).catch(() => undefined)
    onClose(state === 'paired')
  }
  return (
    <Dialog title={t('pair.title')} onClose={close} closeLabel={t('app.close')}>
      <div class="pair-body">
        {state === 'waiting' && <Waiting pairing={pairing} seconds={seconds.value} />}
        <div role="status">
          {state === 'paired' && (
            <>
              <p class="pair-done">{name ? t('pair.done', { name }) : t('pair.done.unnamed')}</p>
              <p class="field-hint">{t('pair.done.hint')}</p>
            </>
          )}
          {state === 'gone' && <p>{t('pair.gone')}</p>}
        </div>
        {state !== 'waiting' && (
          <FormActions>
            {state === 'gone' && <Button onClick={onAgain}>{t('pair.again')}</Button>}
            <Button kind="primary" onClick={close}>
              {t('app.close')}
            </Button>
          </FormActions>
        )}
      </div>
    </Dialog>
  )
}

/** `onPaired` runs when a device was paired. */
export const openPairing = (shell: Shell, onPaired: () => void): Promise<void> =>
  shell.attempt(async () => {
    const reply = await confirmed(shell, password =>
      shell.api('POST /api/auth/pair/create', { password }),
    )
    if (!reply) return
    const pairing = {
      ...reply,
      endsAt: shell.platform.clock.monotonic() + reply.expires_in * 1_000,
    }
    shell.layout.overlay.value = (
      <PairDialog
        key={pairing.id}
        pairing={pairing}
        onAgain={() => void openPairing(shell, onPaired)}
        onClose={isPaired => {
          shell.layout.overlay.value = null
          if (isPaired) onPaired()
        }}
      />
    )
  })
