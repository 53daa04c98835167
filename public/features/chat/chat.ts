/**
 * One chat: all that belongs to one session, or to the one that its first message will create. What a person does in it names
 * this object, never the chat that happens to be shown when a request has been answered.
 */
import { batch, type Signal, signal } from '@preact/signals'
import type { EventCursors } from '../../stream/event-cursors.ts'
import type { Tabs } from '../../stream/tab-leader.ts'
import { t } from '../../strings/t.ts'
import { type ComposerShared, ComposerState } from '../composer/composer-state.ts'
import { Composer } from '../composer/composer.ts'
import type { Models } from '../models/models.ts'
import { Queue } from '../queue/queue.ts'
import { isHostSession } from '../sessions/host-session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Sidebar } from '../sessions/sidebar.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { Shell } from '../shell/shell-state.ts'
import { ChatPanel } from '../panel/panel.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import type { Outbox } from '../messages/outbox.ts'
import { SessionChoices } from '../composer/session-choices.ts'
import { Transcript, type TurnEnd } from '../messages/transcript.ts'
import { TurnActions } from '../composer/turn-actions.ts'

/** What a chat uses of the page. */
export type ChatServices = {
  shell: Shell
  tabs: Tabs
  cursors: EventCursors
  sessions: Sessions
  sidebar: Sidebar
  models: Models
  settings: SettingsState
  workspaces: Workspaces
  composing: ComposerShared
  outbox: Outbox
}

export type RunCommand = (text: string) => Promise<boolean>

export class Chat {
  /** The client's id of the chat: that of its session when it has one. */
  readonly key: string
  /** Empty for a new chat. */
  readonly sessionId: Signal<string>
  readonly transcript: Transcript
  readonly draft: Composer
  readonly composer: ComposerState
  readonly queue: Queue
  readonly choices: SessionChoices
  readonly turns: TurnActions
  /** Its files, changes and processes, and what was asked of the panel for it. */
  readonly panel: ChatPanel
  readonly #services: ChatServices
  /** Of the pane that showed it last. */
  #runCommand: RunCommand = async () => false

  constructor(services: ChatServices, key: string, sessionId = '') {
    const { shell, sessions, outbox, cursors, tabs, models, settings, workspaces } = services
    const { platform, toasts, attempt, api } = shell
    const { composing } = services
    const { personalities } = composing
    this.#services = services
    this.key = key
    this.sessionId = signal(sessionId)
    const chat = new Transcript({
      ...{ platform, cursors, toasts, sessionId: this.sessionId, key, outbox },
      rowOf: id => sessions.row(id),
      onSession: session => sessions.keep(session),
      onMissing: id => sessions.drop(id),
      onSubscriptionsChange: () => tabs.updateSubscriptions(),
      onTurnEnd: end => this.#turnEnded(end),
      onEditedGone: ({ text, files }) => {
        draft.restoreDraft({ text, files: files.map(({ name }) => name) })
        toasts.show(t('tx.place.missing'))
      },
    })
    const draft = new Composer(platform, {
      ...{ key, sessionId: this.sessionId },
      savesDraft: session => !isHostSession(sessions.row(session)),
      isSending: name => outbox.list.peek().some(({ id, draft }) => id === name || draft === name),
    })
    const queue = new Queue(platform)
    const choices = new SessionChoices({
      ...{ key, chat, draft, outbox, sessions, workspaces, personalities, models },
    })
    const turns = new TurnActions({
      ...{ api, toasts, key, sessions, chat, draft, queue, choices, outbox, attempt },
    })
    this.transcript = chat
    this.draft = draft
    this.queue = queue
    this.choices = choices
    this.turns = turns
    this.composer = new ComposerState({
      ...{ shell, settings, draft, workspaces, chat, choices, turns },
      shared: composing,
      runCommand: text => this.#runCommand(text),
    })
    this.panel = new ChatPanel()
  }

  markRead(): void {
    const { sessions, sidebar } = this.#services
    const row = sessions.row(this.sessionId.peek())
    if (row && this.transcript.state.value === 'ready') sidebar.unread.markRead(row)
  }

  /** A pane shows it, which runs its slash commands. */
  async open(runCommand: RunCommand): Promise<void> {
    this.#runCommand = runCommand
    this.draft.enter()
    await this.transcript.open()
    const { value: details } = this.transcript.details
    if (details) this.draft.applyServerDraft(details.composer_draft)
    this.markRead()
  }

  /** No pane shows it any more. What it sends and uploads goes on. */
  close(): void {
    this.composer.completion.close()
    void this.draft.leave()
    this.transcript.close()
  }

  /** Its session was created, by this page or by another one that shows it. */
  begin(session: string, isOurs: boolean): void {
    batch(() => {
      this.transcript.begin(session, isOurs)
      this.draft.begin(isOurs)
    })
  }

  /** Something was written here that is nowhere else, or goes on without being shown. */
  isInUse(): boolean {
    const { outbox } = this.#services
    return (
      !this.draft.empty.peek() ||
      this.transcript.editing.peek().length > 0 ||
      this.composer.isSubmitting() ||
      this.composer.attachments.list.peek().length > 0 ||
      outbox.of(this.key, this.sessionId.peek() || null).length > 0 ||
      outbox.isCreating(this.key) ||
      this.panel.contents.peek()?.isInUse() === true
    )
  }

  #turnEnded({ how }: TurnEnd): void {
    const { shell, sessions } = this.#services
    shell.announce(t('chat.finished', { title: sessions.titleOf(this.sessionId.peek()) }))
    if (how === 'cancel') void this.transcript.reload()
    this.markRead()
  }
}
