/**
 * One chat: all that belongs to one session, or to the one that its first message will create. What a person does in it names
 * this object, never the chat that happens to be shown when a request has been answered.
 */
import { batch, signal } from '@preact/signals'
import type { App } from '../../app.ts'
import type { PaneShared } from '../../pane.ts'
import { t } from '../../strings/t.ts'
import { createComposerState } from '../composer/composer-state.ts'
import { createComposer } from '../composer/composer.ts'
import { createQueue } from '../queue/queue.ts'
import { isHostSession } from '../sessions/host-session.ts'
import { createChatPanel } from '../workspace/panel.ts'
import { createTranscript, type TurnEnd } from './transcript.ts'
import { createSessionChoices } from './session-choices.ts'
import { createTurnActions } from './turn-actions.ts'

export type ChatOptions = {
  /** The client's id of the chat: that of its session when it has one. */
  key: string
  /** Empty for a new chat. */
  sessionId: string
}

export const createChat = (shared: PaneShared, { key, sessionId: id }: ChatOptions) => {
  const { sidebar, models, settings, workspaces, composing, outbox, cursors, tabs } = shared
  const { platform, toasts, attempt, api, announce } = shared.shell
  const { sessions, titleOfSession } = sidebar
  const sessionId = signal(id)
  /** The view that showed it last. */
  let app: App | null = null

  const transcript = createTranscript({
    ...{ platform, cursors, toasts, sessionId, key, outbox },
    rowOf: sessions.row,
    onSession: sessions.keep,
    onMissing: sessions.drop,
    onSubscriptionsChange: () => tabs.updateSubscriptions(),
    onTurnEnd({ how }: TurnEnd) {
      announce(t('chat.finished', { title: titleOfSession(sessionId.peek()) }))
      if (how === 'cancel') void transcript.reload()
      markRead()
    },
    onEditedGone({ text, files }) {
      composer.restoreDraft({ text, files: files.map(({ name }) => name) })
      toasts.show(t('tx.place.missing'))
    },
  })
  const composer = createComposer(platform, {
    ...{ key, sessionId },
    savesDraft: session => !isHostSession(sessions.row(session)),
    isSending: name => outbox.list.peek().some(({ id, draft }) => id === name || draft === name),
  })
  const queue = createQueue(platform)
  const { personalities } = composing
  const choices = createSessionChoices({
    ...{ key, chat: transcript, composer, outbox, sessions, workspaces, personalities },
    models: models.models,
  })
  const turns = createTurnActions({
    ...{ api, toasts, key, sessions, chat: transcript, composer, queue, choices, outbox, attempt },
  })
  const writing = createComposerState({
    ...{ platform, toasts, composer, workspaces, chat: transcript, choices, turns },
    settings: settings.settings,
    shared: composing,
    runCommand: async text => app !== null && composing.slashCommands.run(app, text),
  })

  const markRead = (): void => {
    const row = sessions.row(sessionId.peek())
    if (row && transcript.state.value === 'ready') sidebar.unread.markRead(row)
  }

  const panel = createChatPanel()

  return {
    key,
    sessionId,
    transcript,
    composer,
    writing,
    queue,
    choices,
    turns,
    /** Its files, changes and processes, and what was asked of the panel for it. */
    panel,
    markRead,
    /** A pane shows it with this view. */
    async open(view: App): Promise<void> {
      app = view
      composer.enter()
      await transcript.open()
      const { value: details } = transcript.details
      if (details) composer.applyServerDraft(details.composer_draft)
      markRead()
    },
    /** No pane shows it any more. What it sends and uploads goes on. */
    close(): void {
      writing.completion.close()
      void composer.leave()
      transcript.close()
    },
    /** Its session was created, by this page or by another one that shows it. */
    begin(session: string, isOurs: boolean): void {
      batch(() => {
        transcript.begin(session, isOurs)
        composer.begin(isOurs)
      })
    },
    /** Something was written here that is nowhere else, or goes on without being shown. */
    isInUse: (): boolean =>
      !composer.empty.peek() ||
      transcript.editing.peek() !== null ||
      writing.isSubmitting() ||
      writing.attachments.list.peek().length > 0 ||
      outbox.of(key, sessionId.peek() || null).length > 0 ||
      outbox.isCreating(key) ||
      panel.contents.peek()?.isInUse() === true,
  }
}

export type Chat = ReturnType<typeof createChat>
