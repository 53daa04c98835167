/** Settings → Access: whether chats can be shared by link, and all links. */
import { useLoaded } from '../shell/use-loaded.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Section, SwitchRow } from '../../parts/field.tsx'
import { ShareList } from './share-list.tsx'
import { t } from './strings.ts'

export const ShareSettings = () => {
  const { attempt, api, layout, toasts } = useShell()
  const [links] = useLoaded(() => api('GET /api/shares'))
  const reply = links.value
  if (!reply) return null

  const askRevokeAll = () => {
    layout.confirmation.value = {
      title: t('share.all.title', { count: reply.shares.length }),
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
    <Section title={t('share.settings')}>
      <SwitchRow
        label={t('share.allow')}
        hint={t('share.allow.hint')}
        checked={reply.enabled}
        onChange={enabled =>
          void attempt(async () => {
            links.value = await api('POST /api/shares/enable', { enabled })
          })
        }
      />
      <ShareList
        links={reply.shares}
        titled
        onRevoke={({ id }) =>
          void attempt(async () => {
            links.value = await api('POST /api/shares/revoke', { id })
            toasts.show(t('share.revoked'))
          })
        }
      />
      {reply.shares.length > 1 && (
        <div class="button-row">
          <Button kind="danger" onClick={askRevokeAll}>
            {t('share.all')}
          </Button>
        </div>
      )}
    </Section>
  )
}
