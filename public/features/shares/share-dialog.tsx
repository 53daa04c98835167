/** Dialog that makes a read-only link to a chat and lists its links. A link is shown once, when it is made. */
import { joinSentences } from '../../strings/join-sentences.ts'
import { useLoaded } from '../shell/use-loaded.ts'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { App } from '../../app.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectRow, SwitchRow } from '../../parts/field.tsx'
import { FormActions } from '../../parts/form.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { LoadingNote } from '../../parts/view-state.tsx'
import { type Links, ShareList } from './share-list.tsx'
import { t } from './strings.ts'

const DAYS = [1, 7, 30, 90]
const DEFAULT_DAYS = 7

/** What a link shows beside messages, answers and times. */
const PARTS = [
  ['tool_output', 'share.output', 'share.output.hint'],
  ['pictures', 'share.pictures', 'share.pictures.hint'],
  ['live', 'share.live', 'share.live.hint'],
] as const
type SharePart = (typeof PARTS)[number][0]

const isThisComputer = (): boolean => /^(localhost|127\.|\[::1\])/.test(location.host)

export const openShare = async (app: App, sessionId: string): Promise<void> => {
  await loadLazyCss()
  app.shell.layout.overlay.value = (
    <ShareDialog
      sessionId={sessionId}
      onClose={() => {
        app.shell.layout.overlay.value = null
      }}
    />
  )
}

/** Takes the place of the form, and the focus that its button had. Copied at once where the browser allows it. */
const Made = ({ url }: { url: string }) => {
  const ref = useRef<HTMLElement>(null)
  const isCopied = useSignal(false)
  useEffect(() => {
    ref.current?.focus()
    // The clipboard needs a secure origin and permission; else the button remains.
    navigator.clipboard?.writeText(url).then(
      () => {
        isCopied.value = true
      },
      () => undefined,
    )
  }, [])
  return (
    <section class="share-made" ref={ref} tabIndex={-1} aria-label={t('share.made')}>
      <p class="share-made-title">{t('share.made')}</p>
      <div class="share-made-line">
        <code dir="ltr">{url}</code>
        <CopyButton text={url} label={t('share.copy')} />
      </div>
      <p class="field-hint" role="status">
        {t(isCopied.value ? 'share.made.copied' : 'share.made.hint')}
      </p>
      {isThisComputer() && <p class="field-hint">{t('share.local', { host: location.host })}</p>}
    </section>
  )
}

type FormProps = {
  sessionId: string
  /** Whether links work; the first one turns them on. */
  isOn: boolean
  onMade: (links: Links, token: string) => void
}

const ShareForm = ({ sessionId, isOn, onMade }: FormProps) => {
  const { attempt, api } = useShell()
  const days = useSignal(DEFAULT_DAYS)
  const parts = useSignal<Readonly<Record<SharePart, boolean>>>({
    tool_output: false,
    pictures: false,
    live: false,
  })
  const isBusy = useSignal(false)
  const query = new URLSearchParams({ session_id: sessionId })
  for (const [part] of PARTS) if (parts.value[part]) query.set(part, '1')

  const submit = async (event: Event) => {
    event.preventDefault()
    isBusy.value = true
    await attempt(async () => {
      if (!isOn) await api('POST /api/shares/enable', { enabled: true })
      const { token, ...links } = await api('POST /api/shares/create', {
        session_id: sessionId,
        days: days.value,
        ...parts.value,
      })
      onMade(links, token)
    })
    isBusy.value = false
  }

  return (
    <form onSubmit={event => void submit(event)}>
      <p class="dialog-text">{joinSentences(t('share.lead'), !isOn && t('share.off'))}</p>
      <div class="rows">
        <SelectRow
          label={t('share.days')}
          value={String(days.value)}
          options={DAYS.map(count => [String(count), t('share.days.option', { count })] as const)}
          onChange={value => {
            days.value = Number(value)
          }}
        />
        {PARTS.map(([part, label, hint]) => (
          <SwitchRow
            key={part}
            label={t(label)}
            hint={t(hint)}
            checked={parts.value[part]}
            onChange={checked => {
              parts.value = { ...parts.value, [part]: checked }
            }}
          />
        ))}
      </div>
      <FormActions>
        <a
          class="button"
          href={`api/shares/preview?${query}`}
          target="_blank"
          rel="noopener noreferrer"
        >
          {t('share.preview')}
        </a>
        <Button kind="primary" type="submit" disabled={isBusy.value}>
          {t(isOn ? 'share.create' : 'share.enable')}
        </Button>
      </FormActions>
    </form>
  )
}

const ShareDialog = ({ sessionId, onClose }: { sessionId: string; onClose: () => void }) => {
  const { attempt, api, toasts } = useShell()
  const [links] = useLoaded(() => api('GET /api/shares'))
  const url = useSignal('')
  const reply = links.value
  const own = reply?.shares.filter(link => link.session_id === sessionId) ?? []

  return (
    <Dialog title={t('share.title')} closeLabel={t('app.close')} onClose={onClose}>
      <div class="share-body">
        {!reply && <LoadingNote />}
        {url.value && <Made url={url.value} />}
        {reply && !url.value && (
          <ShareForm
            sessionId={sessionId}
            isOn={reply.enabled}
            onMade={(next, token) => {
              links.value = next
              url.value = new URL(`share/${token}`, document.baseURI).href
            }}
          />
        )}
        {own.length > 0 && (
          <section class="rows" aria-label={t('share.links')}>
            <h3 class="share-links">{t('share.links')}</h3>
            <ShareList
              links={own}
              onRevoke={({ id }) =>
                void attempt(async () => {
                  links.value = await api('POST /api/shares/revoke', { id })
                  url.value = ''
                  toasts.show(t('share.revoked'))
                })
              }
            />
          </section>
        )}
      </div>
    </Dialog>
  )
}
