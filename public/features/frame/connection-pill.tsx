/** Status pill of a lost connection, with a countdown to the next attempt; hidden while connected. */
import { Button } from '../../parts/button.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { t } from '../../strings/t.ts'
import { useShell, useTabs } from '../../contexts.ts'

const CopyAge = lazy(async () => (await import('../offline/copy-age.tsx')).CopyAge, true, false)

/** Hidden from screen readers, which would announce it every second. */
const Progress = () => {
  const { connection } = useShell()
  return (
    <>
      <span aria-hidden="true">
        {connection.state.value.kind === 'waiting'
          ? t('connection.waiting', { count: connection.seconds.value })
          : t('connection.connecting')}
      </span>
      <span class="sr-only">{t('connection.lost')}</span>
    </>
  )
}

export const ConnectionPill = () => {
  const { connection } = useShell()
  const tabs = useTabs()
  const copyMs = connection.copyMs.value
  const isLost = connection.visible.value
  const isOffline = connection.isOffline.value
  if (!isLost && copyMs === null) return <div role="status" />
  const waiting = connection.state.value.kind === 'waiting'
  return (
    <div role="status">
      <div class={`pill${copyMs === null ? '' : ' pill-tall'}`}>
        <span class="pill-dot" aria-hidden="true" />
        <span class="pill-text">
          {isOffline ? (
            <span>{t('connection.offline')}</span>
          ) : isLost && copyMs !== null ? (
            <span>{t('connection.lost')}</span>
          ) : (
            isLost && <Progress />
          )}
          {copyMs !== null && <CopyAge ms={copyMs} />}
        </span>
        {isLost && waiting && (
          <Button kind="quiet" onClick={() => tabs.retryNow()}>
            {t('connection.now')}
          </Button>
        )}
      </div>
    </div>
  )
}
