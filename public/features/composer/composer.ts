/** Draft of the composer: text, files, and comments on diffs, saved per session on the server. */
import type { DiffComment } from '../../../lib/base/comment-text.ts'
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Draft } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'
import { type Choice, noChoice } from '../chat/outbox.ts'
import { type DraftPlace, noDraft, StoredDraft, type Written } from './stored-draft.ts'

export { messageOf, withFiles } from '../../../lib/base/draft-message.ts'

/** The text as the user wrote it. */
export const withoutFiles = (text: string): string =>
  text.replace(/(?:^|\s*\n)\[Attached files: [^\n]*\]$/, '')

/** Of two drafts, the second was begun after the first was taken. */
const joined = (first: Written, second: Written): Written => {
  const comments = [...(first.comments ?? []), ...(second.comments ?? [])]
  return {
    ...second,
    ...first,
    text: [first.text, second.text].filter(Boolean).join('\n\n'),
    files: [...new Set([...first.files, ...second.files])],
    ...(comments.length > 0 && { comments }),
  }
}

export type ComposerOptions = DraftPlace & {
  /** Whether the message with this id is on its way: what it was written in is a draft no more. */
  isSending?: (id: string) => boolean
}

export const createComposer = (
  platform: Pick<Platform, 'api' | 'drafts' | 'clock'>,
  options: ComposerOptions,
) => {
  const { sessionId, isSending = () => false } = options
  const text = signal('')
  const files = signal<readonly string[]>([])
  const comments = signal<readonly DiffComment[]>([])
  const choice = signal<Choice>(noChoice)
  /** Whether the text was edited since the chat was opened; a draft from the server must not overwrite it. */
  let touched = false
  let isLeft = false
  /** The beginning of the text that was put back. */
  let restored = ''
  let recallAt = -1

  const hasChoice = (): boolean => Object.values(choice.value).some(Boolean)

  const now = (): Written => ({
    text: text.value,
    files: [...files.value],
    ...(comments.value.length > 0 && { comments: [...comments.value] }),
    ...(!sessionId.peek() && hasChoice() && { choice: choice.value }),
  })

  /** On its way, and stored nowhere else: it comes back when the page is left before that is known. */
  const taken = new Set<Written>()
  const kept = (): Written => [...taken].reduceRight((rest, draft) => joined(draft, rest), now())
  const stored = new StoredDraft(platform, options, kept)

  const changed = (): void => {
    touched = true
    stored.changed()
  }

  const put = (draft: Written): void => {
    text.value = draft.text
    files.value = draft.files
    comments.value = draft.comments ?? []
    recallAt = -1
  }

  const { draft, isUnsaved } = stored.load()
  put(draft)
  choice.value = draft.choice ?? noChoice
  if (isUnsaved) changed()

  return {
    text,
    files,
    comments,
    /** For a session that does not exist yet. */
    choice: choice as ReadonlySignal<Choice>,
    choose(value: Choice): void {
      choice.value = value
      stored.changed()
    },
    empty: computed(
      () => !/\S/.test(text.value) && files.value.length + comments.value.length === 0,
    ),
    /** The session of a new chat was created. */
    begin(isOurs: boolean): void {
      // The other page has sent it, or saves it.
      if (!isOurs && !touched) put(noDraft)
      stored.begin()
      // The server has no draft yet, so the one that it sends must not overwrite this.
      if (!stored.isSaved()) touched = true
    },
    /** Applies the server's draft unless the text has been edited since. */
    applyServerDraft(draft: Draft): void {
      if (touched) return
      const { client_message_id: id } = draft
      const shown = id !== undefined && isSending(id) ? noDraft : draft
      put(shown)
      stored.adopt(shown)
    },
    /** A pane shows the chat. */
    enter(): void {
      isLeft = false
    },
    /** No pane shows the chat: what another device writes meanwhile is shown when it is opened again. */
    async leave(): Promise<void> {
      isLeft = true
      await stored.save()
      // One that was on its way.
      await stored.settled()
      if (isLeft && taken.size === 0 && stored.isSaved()) touched = false
    },
    edit(value: string): void {
      text.value = value
      recallAt = -1
      changed()
    },
    addFile(path: string): void {
      if (!files.value.includes(path)) files.value = [...files.value, path]
      changed()
    },
    removeFile(path: string): void {
      files.value = files.value.filter(file => file !== path)
      changed()
    },
    addComment(comment: DiffComment): void {
      comments.value = [...comments.value, comment]
      changed()
    },
    /** Replaces a comment by these; none: it is removed. */
    changeComment(comment: DiffComment, ...others: DiffComment[]): void {
      comments.value = comments.value.flatMap(each => (each === comment ? others : each))
      changed()
    },
    /** Earlier prompts, newest last; `back` is +1 for older, −1 for newer. False when there is none. */
    recall(prompts: readonly string[], back: 1 | -1): boolean {
      const at = recallAt + back
      if (at < -1 || at >= prompts.length) return false
      text.value = at === -1 ? '' : prompts[prompts.length - 1 - at]!
      recallAt = at
      changed()
      return true
    },
    isRecalling: () => recallAt >= 0,
    /** Ids of the message that the draft becomes, and of the stored draft that it began as. */
    names: () => stored.names(),
    /** This is about to be put back: it is stored with the draft until then. */
    hold(draft: Written): void {
      taken.add(draft)
      void stored.save()
    },
    /** What was taken is stored elsewhere: as a message, which takes the place of its draft, or as what a command did. */
    forget(draft: Written, isMessage: boolean): void {
      taken.delete(draft)
      if (isMessage) stored.forget()
      else void stored.save()
    },
    /** Returns the draft and clears the composer, to send it. It stays stored until `forget`. */
    takeDraft(): Written {
      const draft = now()
      text.value = ''
      restored = ''
      files.value = []
      comments.value = []
      recallAt = -1
      touched = true
      stored.take()
      taken.add(draft)
      // What was typed just before is stored nowhere yet, and a command or guidance is no message.
      stored.changed()
      return draft
    },
    /** Puts an unsent draft back, before text written since. `held`: what was stored for it until now. */
    restoreDraft(draft: Written, held = draft): void {
      taken.delete(held)
      if (draft.choice && !hasChoice()) choice.value = draft.choice
      // Behind what was put back before: messages are refused in the order in which they were written.
      const before = text.value.startsWith(restored) ? restored : ''
      const rest = text.value.slice(before.length).replace(/^\n+/, '')
      restored = [before, draft.text].filter(Boolean).join('\n\n')
      text.value = [restored, rest].filter(Boolean).join('\n\n')
      const all = joined(draft, now())
      files.value = all.files
      comments.value = all.comments ?? []
      changed()
      // At once: nothing else has it any more.
      void stored.save()
    },
    save: () => stored.save(),
  }
}

export type Composer = ReturnType<typeof createComposer>
