/** State of the composer: draft, attachments, completion, reasoning and personalities; and sending. */
import type { Platform } from '../../platform.ts'
import { t } from '../../strings/t.ts'
import { type Transcript, textOf } from '../chat/transcript.ts'
import type { SessionChoices } from '../chat/session-choices.ts'
import type { TurnActions } from '../chat/turn-actions.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { Toasts } from '../shell/toast.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import { type Attachments, createAttachments, MAX_ATTACHMENTS } from './attachments.ts'
import { type Completion, createCompletion } from './completion.ts'
import { splitComments } from '../../../lib/base/comment-text.ts'
import { type Composer, messageOf, withoutFiles } from './composer.ts'
import type { createSlashCommands } from './lazy-slash-commands.ts'
import type { Personalities } from './personalities.ts'
import type { ReasoningState } from './reasoning.ts'
import type { SkillCommands } from './skill-commands.ts'

export type ComposerOptions = {
  platform: Platform
  toasts: Toasts
  settings: SettingsState
  composer: Composer
  workspaces: Workspaces
  chat: Transcript
  choices: Pick<SessionChoices, 'ensureSession'>
  turns: Pick<TurnActions, 'startTurn' | 'enqueue'>
  shared: ComposerShared
  /** Runs a slash command; false for other text. */
  runCommand: (text: string) => Promise<boolean>
}

/** What the composers of two chats have in common. */
export type ComposerShared = {
  personalities: Personalities
  reasoning: ReasoningState
  skillCommands: SkillCommands
  slashCommands: ReturnType<typeof createSlashCommands>
}

export type ComposerFeature = {
  composer: Composer
  attachments: Attachments
  completion: Completion
  personalities: Personalities
  reasoning: ReasoningState
  skillCommands: SkillCommands
  /** Loads the slash commands. */
  loadCommands: () => Promise<unknown>
  /** Sends the draft: runs a command, starts a turn, or queues behind the running turn; `steer` steers it instead. */
  submit: (steer?: boolean) => Promise<void>
  /** What was written is on its way, and comes back when it is refused. */
  isSubmitting: () => boolean
  /** Earlier prompts of this chat, oldest first. */
  prompts: () => string[]
  showThinking: (shown: boolean) => Promise<void>
}

export const createComposerState = (options: ComposerOptions): ComposerFeature => {
  const { platform, toasts, settings, composer, workspaces, chat, choices, turns } = options
  const { personalities, reasoning, skillCommands, slashCommands } = options.shared
  const { ensureSession } = choices
  const attachments = createAttachments({ platform, composer, ensureSession })
  const completion = createCompletion({
    platform,
    commands: () => [
      ...slashCommands.suggestions(),
      ...skillCommands.list.value,
      ...skillCommands.more.value,
    ],
    entries: async directory => workspaces.entries(await ensureSession(), directory),
    search: async query => workspaces.search(await ensureSession(), query),
    mentions: async (query, files) => {
      const { withMentions } = await import('./mentions.ts')
      return withMentions(platform, { query, sessionId: chat.sessionId.peek(), files })
    },
  })

  let submitting = 0
  const send = async (steer: boolean): Promise<void> => {
    const names = composer.names()
    const draft = composer.takeDraft()
    try {
      const isCommand =
        draft.files.length + (draft.comments?.length ?? 0) === 0 &&
        (await options.runCommand(draft.text))
      if (isCommand) {
        composer.forget(draft, false)
        return
      }
    } catch (error) {
      toasts.showError(error)
      composer.restoreDraft(draft)
      return
    }
    const text = messageOf(draft)
    const isBusy = chat.busy.peek()
    const sent = isBusy
      ? turns.enqueue(text, draft.files, { steer, names })
      : turns.startTurn(text, draft.files, names)
    // A message is in the outbox now; guidance of a turn is not.
    const isStored = !(isBusy && steer)
    if (isStored) composer.forget(draft, true)
    if (!(await sent)) composer.restoreDraft(draft)
    else if (!isStored) composer.forget(draft, true)
  }

  return {
    composer,
    attachments,
    completion,
    personalities,
    reasoning,
    skillCommands,
    loadCommands: slashCommands.load,
    async submit(steer = false) {
      if (composer.empty.value) return
      completion.close()
      // Running uploads belong to this message. Failed ones are for the user to remove or retry.
      if (!(await attachments.uploadsDone())) {
        toasts.show(t('attach.blocked'), { kind: 'error' })
        return
      }
      if (composer.empty.value) return
      if (composer.files.value.length > MAX_ATTACHMENTS) {
        toasts.show(t('attach.limit', { max: `${MAX_ATTACHMENTS}` }), { kind: 'error' })
        return
      }
      submitting += 1
      await send(steer).finally(() => {
        submitting -= 1
      })
    },
    isSubmitting: () => submitting > 0,
    prompts: () =>
      chat.chat.value.messages
        .filter(({ role }) => role === 'user')
        .map(message => splitComments(withoutFiles(textOf(message))).text)
        .filter(Boolean),
    async showThinking(shown) {
      await settings.save('show_thinking', shown)
      await reasoning.setShown(shown)
    },
  }
}
