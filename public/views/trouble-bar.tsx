/** Above every view while a file cannot be read, a guard closes something, or the open conversation has no profile. */
import { Button } from '../parts/button.tsx'
import { t } from '../strings/t.ts'
import { useApp } from './context.ts'

export const TroubleBar = () => {
  const app = useApp()
  const { trouble, sessions, profiles, route, layout } = app
  const { problems, guards } = trouble.current.value
  const row = sessions.row(route.sessionId.value ?? '')
  const known = profiles.list.value
  const gone = row?.profile && known.length > 0 && !known.some(({ name }) => name === row.profile)
  const active = known.find(({ is_active }) => is_active)?.name ?? 'default'
  if (problems.length === 0 && guards.length === 0 && !gone) return null
  return (
    <div class="trouble" role="status" data-narrow={layout.narrow.value}>
      {problems.map(({ file, reason, in_force }) => (
        <p key={file}>{t(in_force ? 'trouble.kept' : 'trouble.lost', { file, reason })}</p>
      ))}
      {guards.length > 0 && (
        <p>
          {t('trouble.guards', { keys: guards.map(({ key }) => key).join(', ') })}{' '}
          <a href={route.hrefOf({ view: 'settings', section: 'security' })}>{t('trouble.look')}</a>
        </p>
      )}
      {gone && row && (
        <p>
          {t('trouble.profile', { name: row.profile ?? '' })}{' '}
          <Button
            onClick={() =>
              void app.attempt(async () => {
                const session_id = row.session_id
                await app.api('POST /api/session/update', { session_id, profile: active })
              })
            }
          >
            {t('trouble.adopt', { name: active })}
          </Button>
        </p>
      )}
    </div>
  )
}
