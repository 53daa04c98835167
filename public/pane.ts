/** One chat with its composer: its own address, draft, queue, panel and pickers; everything else is shared with the page. */
import { computed, signal } from '@preact/signals'
import { createOpenChat, type OpenChat, type TurnEnd } from './features/chat/open-chat.ts'
import { createSessionChoices } from './features/chat/session-choices.ts'
import { createTurnActions } from './features/chat/turn-actions.ts'
import { type ComposerShared, createComposerState } from './features/composer/composer-state.ts'
import { createComposer } from './features/composer/composer.ts'
import type { Sending } from './features/offline/sending.ts'
import { createQueue } from './features/queue/queue.ts'
import { createLazyActions } from './features/sessions/lazy-actions.ts'
import { isHostSession } from './features/sessions/host-session.ts'
import type { SessionsBase } from './features/sessions/sessions-state.ts'
import type { Layout } from './features/shell/layout.ts'
import type { RouteState } from './features/shell/route.ts'
import type { Shell, ShellBase } from './features/shell/shell-state.ts'
import type { Panel } from './features/workspace/panel.ts'
import type { Workspaces } from './features/workspace/workspaces.ts'
import type { EventCursors } from './stream/event-cursors.ts'
import type { TabLeader } from './stream/tab-leader.ts'
import { t } from './strings/t.ts'
import type { App, Features } from './app.ts'
import type { ModelsFeature, ProfilesFeature, SettingsFeature } from './contexts.ts'

/** What all chats of the page share. */
export type PaneShared = {
  shell: ShellBase
  tabs: TabLeader
  cursors: EventCursors
  sidebar: SessionsBase
  models: ModelsFeature
  settings: SettingsFeature
  profiles: ProfilesFeature
  workspaces: Workspaces
  composing: ComposerShared
  sending: Sending
  /** The chats on the page; one unless two are side by side. */
  panes: App[]
}

export type PaneOptions = {
  route: RouteState
  layout: Layout
  panel: Panel
  /** Key of the stored draft of a new chat. */
  draftKey?: string
  /** Leaves a deleted session. Default: begins a new chat. */
  leave?: () => void
}

export const createPane = (shared: PaneShared, options: PaneOptions): App => {
  const { sidebar, cursors, models, settings, workspaces, composing, panes } = shared
  const { route, layout, panel } = options
  const base = { ...shared.shell, route, layout }
  const { platform, toasts, attempt, api } = base
  const { sessions, projects, titleOfSession } = sidebar

  const markRead = (): void => {
    const row = sessions.row(chat.chat.value.sessionId)
    if (row && chat.state.value === 'ready') sidebar.unread.markRead(row)
  }
  const chat: OpenChat = createOpenChat({
    platform,
    cursors: {
      ...cursors,
      unsubscribe(source) {
        // A chat that moves from one side to the other is open in both for a moment.
        const isElsewhere = (pane: App) =>
          pane.chat !== chat && source === `session:${pane.chat.chat.value.sessionId}`
        if (!panes.some(isElsewhere)) cursors.unsubscribe(source)
      },
    },
    toasts,
    onSession: sessions.keep,
    onMissing: sessions.drop,
    onSubscriptionsChange: () => shared.tabs.updateSubscriptions(),
    onTurnEnd({ sessionId, how }: TurnEnd) {
      base.announce(t('chat.finished', { title: titleOfSession(sessionId) }))
      if (how === 'cancel') void chat.reload()
      markRead()
    },
  })
  const composer = createComposer(
    platform,
    id => !isHostSession(sessions.row(id)),
    options.draftKey,
  )
  const queue = createQueue(platform)
  const { personalities } = composing
  const choices = createSessionChoices({
    ...{ api, route, layout, sessions, projects, chat, composer, workspaces, personalities },
    sending: shared.sending,
    models: models.models,
  })
  const leave = options.leave ?? choices.newChat
  const turns = createTurnActions({
    ...{ api, toasts, route, sessions, chat, queue, choices, attempt },
    outbox: base.outbox,
    sending: shared.sending,
    clock: platform.clock,
  })
  const composerState = createComposerState({
    ...{ platform, toasts, route, composer, workspaces, chat, choices, turns },
    settings: settings.settings,
    shared: composing,
    runCommand: text => composing.slashCommands.run(app, text),
  })

  const viewTitle = signal('')
  const shell: Shell = {
    ...base,
    viewTitle,
    tabs: shared.tabs,
    title: computed(() => {
      const id = route.sessionId.value
      const name = viewTitle.value || (id ? titleOfSession(id) : t('chat.new'))
      const waiting = sidebar.inbox.count.value
      const mark = waiting > 0 ? `(${waiting}) ` : sidebar.anyFinished.value ? '• ' : ''
      return `${mark}${name} · ${settings.settings.current.value.bot_name}`
    }),
  }
  const features: Features = {
    shell,
    sessions: {
      ...sidebar,
      ...createLazyActions({ shell: base, sessions, chat, newChat: leave }),
    },
    chat: {
      ...{ ...turns, ...choices, chat, queue, markRead, leave },
      async openSession(id) {
        // A session that was created for what is being typed, such as `@`, changes nothing for the person.
        if (composer.sessionId.value !== (id ?? '')) composerState.completion.close()
        composer.open(id ?? '')
        await chat.open(id)
        const details = chat.details.value
        if (id && details?.session_id === id) composer.applyServerDraft(id, details.composer_draft)
        markRead()
      },
    },
    composer: composerState,
    models,
    settings,
    profiles: shared.profiles,
    workspace: { panel, workspaces },
  }
  const app: App = {
    ...features.shell,
    ...features.sessions,
    ...features.chat,
    ...features.composer,
    ...features.models,
    ...features.settings,
    ...features.profiles,
    ...features.workspace,
    features,
  }
  panes.push(app)
  return app
}
