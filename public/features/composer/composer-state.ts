/** State of the composer: draft, attachments, completion, reasoning and personalities; and sending. */
import { t } from '../../strings/t.ts'
import type { Transcript } from '../messages/transcript.ts'
import type { SessionChoices } from './session-choices.ts'
import type { TurnActions } from './turn-actions.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import { MAX_ATTACHMENTS } from '../../../lib/base/attachment-limits.ts'
import { Attachments } from './attachments.ts'
import { Completion } from './completion.ts'
import type { Dictation } from './dictation.ts'
import { type Signal, signal } from '@preact/signals'
import { splitComments } from '../../../lib/base/comment-text.ts'
import { messageOf } from '../../../lib/base/draft-message.ts'
import type { Composer } from './composer.ts'
import { messageText, withoutFiles } from '../messages/message-text.ts'
import type { SlashCommands } from './lazy-slash-commands.ts'
import type { Personalities } from './personalities.ts'
import type { ReasoningState } from './reasoning.ts'
import type { SkillCommands } from '../skills/skill-commands.ts'

export type ComposerOptions = {
  shell: Shell
  settings: SettingsState
  draft: Composer
  workspaces: Workspaces
  chat: Transcript
  choices: SessionChoices
  turns: TurnActions
  shared: ComposerShared
  /** Runs a slash command; false for other text. */
  runCommand: (text: string) => Promise<boolean>
}

/** What the composers of two chats have in common. */
export type ComposerShared = {
  personalities: Personalities
  reasoning: ReasoningState
  skillCommands: SkillCommands
  slashCommands: SlashCommands
}

export class ComposerState {
  readonly draft: Composer
  readonly attachments: Attachments
  readonly completion: Completion
  /** Once its code is loaded. */
  readonly dictation: Signal<Dictation | null> = signal(null)
  readonly personalities: Personalities
  readonly reasoning: ReasoningState
  readonly skillCommands: SkillCommands
  readonly #options: ComposerOptions
  #submitting = 0

  constructor(options: ComposerOptions) {
    const { shell, draft, workspaces, chat, choices, shared } = options
    const { platform } = shell
    const { slashCommands, skillCommands } = shared
    const ensureSession = () => choices.ensureSession()
    this.#options = options
    this.draft = draft
    this.personalities = shared.personalities
    this.reasoning = shared.reasoning
    this.skillCommands = skillCommands
    this.attachments = new Attachments({ platform, composer: draft, ensureSession })
    this.completion = new Completion({
      platform,
      commands: query =>
        slashCommands.find(query, [...skillCommands.list.value, ...skillCommands.more.value]),
      entries: async directory => workspaces.entries(await ensureSession(), directory),
      search: async query => workspaces.search(await ensureSession(), query),
      mentions: async (query, files) => {
        const { withMentions } = await import('./mentions.ts')
        return withMentions(platform, { query, sessionId: chat.sessionId.peek(), files })
      },
    })
  }

  /** Sends the draft: runs a command, starts a turn, or queues behind the running turn; `steer` steers it instead. */
  async submit(steer = false): Promise<void> {
    const { draft, attachments } = this
    const { toasts } = this.#options.shell
    if (draft.empty.value) return
    this.completion.close()
    // Running uploads belong to this message. Failed ones are for the user to remove or retry.
    if (!(await attachments.uploadsDone())) {
      toasts.show(t('attach.blocked'), { kind: 'error' })
      return
    }
    if (draft.empty.value) return
    if (draft.files.value.length > MAX_ATTACHMENTS) {
      toasts.show(t('attach.limit', { max: `${MAX_ATTACHMENTS}` }), { kind: 'error' })
      return
    }
    this.#submitting += 1
    try {
      await this.#send(steer)
    } finally {
      this.#submitting -= 1
    }
  }

  /** What was written is on its way, and comes back when it is refused. */
  isSubmitting(): boolean {
    return this.#submitting > 0
  }

  /** Earlier prompts of this chat, oldest first. */
  prompts(): string[] {
    return this.#options.chat.chat.value.messages
      .filter(({ role }) => role === 'user')
      .map(message => splitComments(withoutFiles(messageText(message))).text)
      .filter(Boolean)
  }

  async showThinking(isOn: boolean): Promise<void> {
    await this.#options.settings.save('show_thinking', isOn)
    await this.reasoning.setShown(isOn)
  }

  async #send(steer: boolean): Promise<void> {
    const { draft } = this
    const { shell, chat, turns, runCommand } = this.#options
    const names = draft.names()
    const contents = draft.takeDraft()
    try {
      const isPlain = contents.files.length + (contents.comments?.length ?? 0) === 0
      if (isPlain && (await runCommand(contents.text))) {
        draft.forget(contents, false)
        return
      }
    } catch (error) {
      shell.toasts.showError(error)
      draft.restoreDraft(contents)
      return
    }
    const text = messageOf(contents)
    const isBusy = chat.busy.peek()
    const sending = isBusy
      ? turns.enqueue(text, contents.files, { steer, names })
      : turns.startTurn(text, contents.files, names)
    // A message is in the outbox now; guidance of a turn is not.
    const isStored = !(isBusy && steer)
    if (isStored) draft.forget(contents, true)
    if (!(await sending)) draft.restoreDraft(contents)
    else if (!isStored) draft.forget(contents, true)
  }
}
