/** Status pill of a lost connection, with a countdown to the next attempt; hidden while connected. */
import { Button } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'
import { useShell } from '../../contexts.ts'

export const ConnectionPill = () => {
  const { connection, tabs } = useShell()
  if (!connection.visible.value) return <div role="status" />
  const waiting = connection.state.value.kind === 'waiting'
  return (
    <div role="status">
      <div class="pill">
        <span class="pill-dot" aria-hidden="true" />
        {/* Hidden from screen readers, which would announce it every second. */}
        <span aria-hidden="true">
          {waiting
            ? t('connection.waiting', { count: connection.seconds.value })
            : t('connection.connecting')}
        </span>
        <span class="sr-only">{t('connection.lost')}</span>
        {waiting && (
          <Button kind="quiet" onClick={() => tabs.retryNow()}>
            {t('connection.now')}
          </Button>
        )}
      </div>
    </div>
  )
}
