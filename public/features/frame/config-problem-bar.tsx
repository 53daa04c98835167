/** Bar above every view for unreadable configuration files, unsupported security settings and chats without a profile. */
import { useEffect } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { causeText } from '../../strings/server-text.ts'
import { t } from '../shell/config-problem-strings.ts'
import { useChat, useProfiles, useSessions, useShell } from '../../contexts.ts'

export const ConfigProblemBar = () => {
  const { configProblems, route, layout, attempt, api } = useShell()
  const { transcript: chat } = useChat()
  const profiles = useProfiles()
  const sessions = useSessions()
  const { problems, guards, changed } = configProblems.current.value
  const closing = guards.filter(({ closes }) => closes.length > 0)
  const notes = guards.filter(({ closes }) => closes.length === 0)
  const open = chat.details.value
  const active = profiles.active.value
  // For a chat of another profile, check once whether that profile still exists.
  const other = open?.profile && active && open.profile !== active ? open.profile : null
  useEffect(() => {
    if (other) void attempt(() => profiles.refresh())
  }, [other, open?.session_id])
  const all = profiles.list.value
  const isGone = other && all.length > 0 && !all.some(({ name }) => name === other)
  if (problems.length === 0 && guards.length === 0 && !changed && !isGone) return null
  return (
    <div class="trouble" role="status" data-narrow={layout.narrow.value}>
      {problems.map(({ file, reason, sentences, in_force }) => (
        <p key={file}>
          {t(in_force ? 'problems.kept' : 'problems.lost', {
            file,
            reason: causeText(reason, sentences?.reason),
          })}
        </p>
      ))}
      {changed && (
        <p>
          {t('problems.changed', { keys: changed.changes.map(({ key }) => key) })}{' '}
          <a href={route.hrefOf({ view: 'settings', section: 'permissions' })}>
            {t('problems.look')}
          </a>
        </p>
      )}
      {[closing, notes].map(
        (group, at) =>
          group.length > 0 && (
            <p key={at}>
              {t(at === 0 ? 'problems.guards' : 'problems.notes', {
                keys: group.map(({ key }) => key),
              })}{' '}
              <a href={route.hrefOf({ view: 'settings', section: 'permissions' })}>
                {t('problems.look')}
              </a>
            </p>
          ),
      )}
      {isGone && open && (
        <p>
          {t('problems.profile', { name: other })}{' '}
          <Button
            onClick={() =>
              void attempt(async () => {
                const { session_id } = open
                sessions.upsert(
                  (await api('POST /api/session/update', { session_id, profile: active })).session,
                )
              })
            }
          >
            {t('problems.adopt', { name: active })}
          </Button>
        </p>
      )}
    </div>
  )
}
