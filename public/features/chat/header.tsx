/** Chat header: editable title, project, folder and menu. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { formatKeys } from '../shell/keys.ts'
import { SidebarButton } from '../shell/sidebar-button.tsx'
import { IconButton } from '../../parts/button.tsx'
import { may } from '../../parts/may.ts'
import { MenuButton } from '../../parts/menu-button.tsx'
import { TitleField } from '../../parts/title-field.tsx'
import { usePart } from '../../parts/use-part.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import { t } from '../../strings/t.ts'
import { Icon } from '../../parts/icon.tsx'
import { useChat, useShell, useWorkspaces } from '../../contexts.ts'
import { Chip } from '../composer/chips.tsx'
import { useApp } from '../shell/context.ts'
import { openOutline } from '../outline/open-outline.ts'
import { ProjectDot } from '../projects/project-list.tsx'
import { lateSessionMenu } from '../sessions/late-session-menu.ts'

/** Where the agent works: chosen before the first message, and then fixed. */
const Folder = ({ isFixed }: { isFixed: boolean }) => {
  const workspaces = useWorkspaces()
  const { transcript, choices } = useChat()
  const { layout, attempt } = useShell()
  const has = transcript.sessionId.value !== ''
  const path = has
    ? (transcript.details.value?.workspace ?? '')
    : choices.choice.value.workspace || workspaces.last.value
  const isChoosing = layout.picker.value === 'workspace'
  // The options may have changed since the page was loaded.
  useEffect(() => {
    if (isChoosing) void attempt(() => workspaces.load())
  }, [isChoosing])
  if (!path) return null
  const name = workspaces.nameOf(path)
  const title = t('chat.empty.text', { workspace: path })
  return isFixed || !may('POST /api/session/update') ? (
    <span class="head-folder" title={title}>
      <Icon name="folder" size={14} />
      <span class="chip-value" dir="auto">
        {name}
      </span>
    </span>
  ) : (
    <Chip
      picker="workspace"
      icon="folder"
      name={t('chip.workspace')}
      value={name}
      title={title}
      selected={path}
    >
      <Icon name="chevron-down" size={14} />
    </Chip>
  )
}

export const Header = () => {
  const app = useApp()
  const { layout } = app.shell
  const sessions = app.sessions
  const editing = useSignal(false)
  const id = app.chat.transcript.sessionId.value
  const openTitle = usePart(app.chat.transcript.chat, ({ title }) => title)
  const hasMessages = usePart(app.chat.transcript.chat, ({ messages }) => messages.length > 0)
  const isMissing = app.chat.transcript.state.value === 'missing'
  const row = sessions.row(id)
  const title = sessionTitle(row ?? { title: openTitle })
  const project = app.projects.find(row?.project_id)

  return (
    <header class="head">
      <SidebarButton />
      <div class="head-title">
        {isMissing ? (
          <h1>{t('chat.missing.title')}</h1>
        ) : !id ? (
          <h1>{t(may('POST /api/session/new') ? 'chat.new' : 'app.sidebar')}</h1>
        ) : editing.value ? (
          <TitleField
            class="title-field"
            title={title}
            onDone={text => {
              editing.value = false
              if (text && text !== title) void sessions.rename(id, text)
            }}
          />
        ) : (
          <>
            <h1 dir="auto">
              {may('POST /api/session/rename') ? (
                <button
                  type="button"
                  class="title-button"
                  title={t('chat.title.edit', { title })}
                  onClick={() => {
                    editing.value = true
                  }}
                  onKeyDown={event => {
                    if (event.key === 'F2') editing.value = true
                  }}
                >
                  {title}
                </button>
              ) : (
                <span class="title-text">{title}</span>
              )}
            </h1>
            {project && (
              <span class="head-project">
                <ProjectDot color={project.color} />
                {project.name}
              </span>
            )}
          </>
        )}
        <Folder isFixed={hasMessages} />
      </div>
      {id && !layout.sidebarShown.value && (
        <IconButton
          icon="plus"
          asks="POST /api/session/new"
          label={t('chat.new')}
          keys={formatKeys('mod+shift+o', layout.mac)}
          onClick={() => app.pane.newChat()}
        />
      )}
      {hasMessages && (
        <IconButton
          icon="list"
          label={t('keys.outline')}
          keys={formatKeys('mod+j', layout.mac)}
          onClick={() => openOutline(app)}
        />
      )}
      <IconButton
        icon="panel"
        label={t(app.panel.isShown.value ? 'panel.hide' : 'panel.show')}
        keys={formatKeys('mod+shift+e', layout.mac)}
        aria-expanded={app.panel.isShown.value}
        onClick={() => app.panel.toggle()}
      />
      {row && (
        <MenuButton
          label={t('chat.menu')}
          items={() =>
            lateSessionMenu(app, row, () => {
              editing.value = true
            })
          }
        />
      )}
      {layout.closeSide.value && (
        <IconButton icon="close" label={t('chat.side.close')} onClick={layout.closeSide.value} />
      )}
    </header>
  )
}
