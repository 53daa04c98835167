/** Settings → Tools: the toolsets of the profile and of the open session. */
import { listOf } from '../../strings/t.ts'
import { useEffect } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Toolsets, ToolsetRow } from '../../../lib/schema/toolset.ts'
import { Row } from '../../parts/field.tsx'
import { sessionTitle } from '../sessions/sessions.ts'
import { toolsOf } from './tools.ts'
import { enTools, t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { EmptyNote, LoadNote } from '../../parts/view-state.tsx'

type NamedTool = keyof typeof enTools extends infer K
  ? K extends `${infer N}.does`
    ? N
    : never
  : never
const isKnown = (name: string): name is NamedTool => `${name}.does` in enTools

const reasonOf = ({ name, reason, needs }: ToolsetRow['tools'][number]): string | null => {
  if (reason !== null && name === 'web_search' && needs)
    return t('reason.web_search', { names: needs })
  return reason !== null && (name === 'vision_analyze' || name === 'memory')
    ? t(`reason.${name}`)
    : reason
}

const hintOf = ({ name, summary, tools, forbidden }: ToolsetRow): string => {
  const missing = tools.flatMap(tool => reasonOf(tool) ?? [])
  return [
    `${isKnown(name) ? t(`${name}.does`) : summary} · ${listOf(tools.map(({ name }) => name))}`,
    ...(forbidden ? [t('forbidden')] : missing),
  ].join(' · ')
}

const List = ({
  rows,
  toggle,
}: {
  rows: Toolsets['toolsets']
  toggle: (name: string, on: boolean) => Promise<void>
}) => (
  <div class="rows">
    {rows.map(row => (
      <Row
        key={row.name}
        label={isKnown(row.name) ? t(row.name) : row.name}
        hint={hintOf(row)}
        control={ids => (
          <input
            id={ids.control}
            type="checkbox"
            role="switch"
            class="switch"
            aria-checked={row.enabled}
            aria-describedby={ids.hint}
            checked={row.enabled}
            disabled={row.forbidden}
            onChange={event => void toggle(row.name, event.currentTarget.checked)}
          />
        )}
      />
    ))}
  </div>
)

const SessionTools = ({ own }: { own: Toolsets }) => {
  const app = useApp()
  const tools = toolsOf(app)
  const title = sessionTitle(app.sessions.row(own.session_id) ?? { title: '' })
  const has = own.enabled_toolsets !== null
  return (
    <section class="view-part" aria-labelledby="tools-session">
      <h3 id="tools-session">{t('session')}</h3>
      <div class="rows">
        <Row
          label={t('session.own')}
          hint={t('session.own.hint', { title })}
          control={ids => (
            <input
              id={ids.control}
              type="checkbox"
              role="switch"
              class="switch"
              aria-checked={has}
              aria-describedby={ids.hint}
              checked={has}
              onChange={event => void tools.setOverride(event.currentTarget.checked)}
            />
          )}
        />
      </div>
      {has && <List rows={own.toolsets} toggle={tools.toggleForSession} />}
      <h4>{t('instructions')}</h4>
      {own.instruction_files.length === 0 ? (
        <EmptyNote title={t('instructions.none')} text={t('instructions.none.text')} />
      ) : (
        <ul class="instruction-files">
          {own.instruction_files.map(path => (
            <li key={path}>
              <code>{visibleName(path)}</code>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

export const ToolSettings = () => {
  const app = useApp()
  const tools = toolsOf(app)
  const name = app.profiles.active.value
  const id = app.chat.transcript.sessionId.value
  useEffect(() => void tools.load(), [name, id])
  const profile = tools.profile.value
  const own = tools.session.value
  const state = tools.state.value
  if (!profile || state === 'failed') {
    return <LoadNote state={state} failed={t('failed')} onRetry={() => void tools.load()} />
  }
  return (
    <>
      {own?.session_id === id && own && <SessionTools own={own} />}
      <section class="view-part" aria-labelledby="tools-profile">
        <h3 id="tools-profile">{t('profile', { name: profile.profile })}</h3>
        <p class="field-hint">{t('lead')}</p>
        <List rows={profile.toolsets} toggle={tools.toggle} />
      </section>
    </>
  )
}
