/** Settings → Security: whether chats can be shared by link, and all links. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Switch } from '../../parts/field.tsx'
import { type Links, ShareList } from './share-list.tsx'
import { t } from './strings.ts'

export const ShareSettings = () => {
  const { attempt, api, layout, toasts } = useShell()
  const links = useSignal<Links | null>(null)
  useEffect(
    () =>
      void attempt(async () => {
        links.value = await api('GET /api/shares')
      }),
    [],
  )
  const shown = links.value
  if (!shown) return null

  const askRevokeAll = () => {
    layout.confirmation.value = {
      title: t('share.all.title', { count: shown.shares.length }),
      text: t('share.all.text'),
      confirm: t('share.all'),
      danger: true,
      async run() {
        links.value = await api('POST /api/shares/revoke', { all: true })
        toasts.show(t('share.all.done'))
      },
    }
  }

  return (
    <section class="view-part rows" aria-label={t('share.settings')}>
      <h3>{t('share.settings')}</h3>
      <Row
        label={t('share.allow')}
        hint={t('share.allow.hint')}
        control={ids => (
          <Switch
            id={ids.control}
            describedBy={ids.hint}
            checked={shown.enabled}
            onChange={enabled =>
              void attempt(async () => {
                links.value = await api('POST /api/shares/enable', { enabled })
              })
            }
          />
        )}
      />
      <ShareList
        links={shown.shares}
        titled
        onRevoke={({ id }) =>
          void attempt(async () => {
            links.value = await api('POST /api/shares/revoke', { id })
            toasts.show(t('share.revoked'))
          })
        }
      />
      {shown.shares.length > 1 && (
        <div class="button-row">
          <Button kind="danger" onClick={askRevokeAll}>
            {t('share.all')}
          </Button>
        </div>
      )}
    </section>
  )
}
