/** Draft of the composer: text, files, and comments on diffs, saved per session on the server. */
import type { DiffComment } from '../../../lib/base/comment-text.ts'
import { MAX_DRAFT_CHARS } from '../../../lib/base/draft-limit.ts'
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Draft } from '../../../lib/schema/session.ts'
import { isUnreachable } from '../../api.ts'
import { randomId } from '../../parts/random-id.ts'
import type { Platform } from '../../platform.ts'

const PAUSE_MS = 600
/** Of a draft that the server does not store: each write is of megabytes, and stops the page. */
const LONG_PAUSE_MS = 5_000
/** After a draft that the server did not get; twice as long after each further one. */
const RETRY_MS = 3_000
const MAX_RETRY_MS = 60_000
/** Browsers send at most 64 KiB of `keepalive` bodies at a time, and fail with more. */
const KEEPALIVE_BYTES = 30_000
/** Drafts by session that the server does not have yet. */
const UNSAVED = 'unsaved-drafts'
const noDraft: Draft = { text: '', files: [] }
/** Equals no draft. */
const UNKNOWN: Draft = { text: '\0', files: [], comments: [] }
const isSame = (a: Draft, b: Draft): boolean =>
  a.text === b.text &&
  a.files.join('\n') === b.files.join('\n') &&
  JSON.stringify(a.comments ?? []) === JSON.stringify(b.comments ?? [])

export { messageOf, withFiles } from '../../../lib/base/draft-message.ts'

/** The text as the user wrote it. */
export const withoutFiles = (text: string): string =>
  text.replace(/\s*\[Attached files: [^\]]*\]$/, '')

export type ComposerOptions = {
  /** Of the chat; empty until it was created: its draft is then stored in this browser. */
  sessionId: ReadonlySignal<string>
  /** Whether the server stores drafts of this session. */
  savesDraft?: (id: string) => boolean
  /** Key of the draft of a new chat in this browser. */
  draftKey?: string
  /** Whether the message with this id is on its way: what it was written in is a draft no more. */
  isSending?: (id: string) => boolean
}

export const createComposer = (
  { api, drafts, clock }: Pick<Platform, 'api' | 'drafts' | 'clock'>,
  {
    sessionId,
    savesDraft = () => true,
    draftKey = 'draft',
    isSending = () => false,
  }: ComposerOptions,
) => {
  const text = signal('')
  const files = signal<readonly string[]>([])
  const comments = signal<readonly DiffComment[]>([])
  let saved: Draft = noDraft
  /** What the draft will be sent as; see docs/decisions/0003. */
  let messageId = randomId()
  /** The same of the stored draft that was shown, of another device or from before a reload. */
  let shownId: string | undefined
  let retryMs = RETRY_MS
  /** Whether the text was edited since the chat was opened; a draft from the server must not overwrite it. */
  let touched = false
  let saving = Promise.resolve()
  let isLeft = false
  /** The beginning of the text that was put back. */
  let restored = ''
  let recallAt = -1
  let cancel = () => {}

  const now = (): Draft => ({
    text: text.value,
    files: [...files.value],
    ...(comments.value.length > 0 && { comments: [...comments.value] }),
  })

  const unsaved = () => drafts.read<Record<string, Draft>>(UNSAVED, {})

  const keep = (id: string, draft: Draft): void =>
    drafts.write(UNSAVED, { ...unsaved(), [id]: draft })

  /** The server has this draft; a newer one of the session is kept. */
  const forget = (id: string, draft: Draft): void => {
    const { [id]: kept, ...others } = unsaved()
    if (kept && isSame(kept, draft)) drafts.write(UNSAVED, others)
  }

  const save = async (): Promise<void> => {
    cancel()
    const id = sessionId.peek()
    const draft = now()
    if (isSame(draft, saved) || !savesDraft(id)) return
    // Absent comments stay as they are on the server, so removed ones are named.
    const comments = draft.comments ?? (saved.comments && [])
    saved = draft
    if (!id) {
      drafts.write(draftKey, draft)
      return
    }
    // In this browser until the server has it: the chat or the tab may be left before that.
    keep(id, draft)
    if (draft.text.length > MAX_DRAFT_CHARS) return
    const request = async (): Promise<void> => {
      const name = { client_message_id: messageId }
      const input = { session_id: id, ...draft, ...(comments && { comments }), ...name }
      // `keepalive` sends the draft even while the tab closes; a longer one is in the browser if that is too soon.
      const keepalive = new Blob([JSON.stringify(input)]).size <= KEEPALIVE_BYTES
      await api('POST /api/session/draft', input, { keepalive })
    }
    saving = request()
    try {
      await saving
      forget(id, draft)
      retryMs = RETRY_MS
    } catch (error) {
      // It was sent, or changed and saved again.
      if (saved !== draft) return
      saved = UNKNOWN
      // A refusal would be repeated; the next change may end it.
      if (isUnreachable(error)) saveAgain()
    }
  }

  /** The server may be back before this is known to have failed, so its return alone would save nothing. */
  const saveAgain = (): void => {
    cancel()
    cancel = clock.timer(retryMs, () => void save())
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
  }

  const changed = (): void => {
    touched = true
    cancel()
    const isLong = text.value.length > MAX_DRAFT_CHARS
    cancel = clock.timer(isLong ? LONG_PAUSE_MS : PAUSE_MS, () => void save())
  }

  const put = (draft: Draft): void => {
    text.value = draft.text
    files.value = draft.files
    comments.value = draft.comments ?? []
    saved = draft
    shownId = draft.client_message_id
    messageId = randomId()
    recallAt = -1
  }

  const kept = sessionId.peek() ? unsaved()[sessionId.peek()] : drafts.read(draftKey, noDraft)
  put(kept ?? noDraft)
  if (kept && sessionId.peek()) {
    saved = UNKNOWN
    changed()
  }

  return {
    text,
    files,
    comments,
    empty: computed(
      () => !/\S/.test(text.value) && files.value.length + comments.value.length === 0,
    ),
    /** The session of a new chat was created: the server stores the draft from now on. */
    begin(): void {
      if (isSame(drafts.read(draftKey, noDraft), saved)) drafts.write(draftKey, noDraft)
      saved = noDraft
      if (!isSame(now(), noDraft)) changed()
    },
    /** Applies the server's draft unless the text has been edited since. */
    applyServerDraft(draft: Draft): void {
      const { client_message_id: id } = draft
      if (!touched) put(id !== undefined && isSending(id) ? noDraft : draft)
    },
    /** A pane shows the chat. */
    enter(): void {
      isLeft = false
    },
    /** No pane shows the chat: what another device writes meanwhile is shown when it is opened again. */
    async leave(): Promise<void> {
      isLeft = true
      await save()
      // One that was on its way.
      await saving.catch(() => undefined)
      if (isLeft && isSame(now(), saved)) touched = false
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
    names: () => ({ id: messageId, ...(shownId !== undefined && { draft: shownId }) }),
    /** The message is stored elsewhere: the server clears its draft with it, and leaves that of another device. */
    forget(): void {
      saved = noDraft
      const id = sessionId.peek()
      if (!id) return drafts.write(draftKey, noDraft)
      const { [id]: _, ...others } = unsaved()
      drafts.write(UNSAVED, others)
    },
    /** Returns the draft and clears the composer, to send it. The stored draft stays until `forget` or `save`. */
    takeDraft(): Draft {
      const draft = now()
      text.value = ''
      restored = ''
      files.value = []
      comments.value = []
      recallAt = -1
      touched = true
      messageId = randomId()
      shownId = undefined
      cancel()
      return draft
    },
    /** Puts an unsent draft back, before text written since. */
    restoreDraft(draft: Draft): void {
      // Behind what was put back before: messages are refused in the order in which they were written.
      const before = text.value.startsWith(restored) ? restored : ''
      const rest = text.value.slice(before.length).replace(/^\n+/, '')
      restored = [before, draft.text].filter(Boolean).join('\n\n')
      text.value = [restored, rest].filter(Boolean).join('\n\n')
      files.value = [...new Set([...draft.files, ...files.value])]
      comments.value = [...(draft.comments ?? []), ...comments.value]
      changed()
    },
    save,
  }
}

export type Composer = ReturnType<typeof createComposer>
