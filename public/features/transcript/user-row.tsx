/** User message: can be copied or edited in place. */
import { useSignal } from '@preact/signals'

import { splitComments } from '../../../lib/base/comment-text.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { isImagePath } from '../../parts/file-kind.ts'
import { editOf, withEdit } from '../messages/editing.ts'
import { messageText, withoutFiles } from '../messages/message-text.ts'
import { t } from '../../strings/transcript-strings.ts'
import { useTranscript } from '../messages/transcript-context.ts'
import type { ComponentChildren } from 'preact'
import { useShell } from '../../contexts.ts'

/** Written by `mentionText` of the composer. */
const MENTION = /\[([^[\]\n]{1,300})\]\((chat|skill):([^()\n]{1,128})\)/g

const Mention = ({ kind, id, name }: { kind: string; id: string; name: string }) => {
  const { route } = useShell()
  const to =
    kind === 'chat'
      ? ({ view: 'chat', sessionId: id } as const)
      : ({ view: 'skills', skill: id, query: '' } as const)
  return (
    <a class="ref" href={route.hrefOf(to)}>
      {name}
    </a>
  )
}

const UserText = ({ text }: { text: string }) => {
  const parts: ComponentChildren[] = []
  let at = 0
  for (const match of text.matchAll(MENTION)) {
    const [whole, name, kind, id] = match as unknown as [string, string, string, string]
    parts.push(
      text.slice(at, match.index),
      <Mention key={match.index} kind={kind} id={id} name={name} />,
    )
    at = match.index + whole.length
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  )
}

const UserEditor = lazy(async () => (await import('./user-editor.tsx')).UserEditor, true)

/** Their places are kept. */
const Attachments = lazy(async () => (await import('./user-parts.tsx')).Attachments, true, false)
const Versions = lazy(async () => (await import('./user-parts.tsx')).Versions, true, false)

const HookNotes = lazy(async () => (await import('../tool-calls/hook-notes.tsx')).HookNotes, true)

const SentComments = lazy(
  async () => (await import('../review/sent-comments.tsx')).SentComments,
  true,
)

/** Of its parts the one that has no place before it is loaded. */
export const partOfUser = (message: Message) =>
  message._hooks
    ? HookNotes
    : splitComments(messageText(message)).comments.length > 0
      ? SentComments
      : null

/** Longer messages are collapsed. */
const isLong = (text: string): boolean => text.length > 1400 || text.split('\n', 18).length > 16

export function UserRowView({ message }: { message: Message }) {
  const { actions } = useTranscript()
  const whole = useSignal(false)
  const hasFiles = (message.attachments?.length ?? 0) > 0
  // Files are listed below as links, so their names are removed from the text.
  const { text, comments } = splitComments(
    hasFiles ? withoutFiles(messageText(message)) : messageText(message),
  )
  const long = isLong(text)
  const isStored = !message.id.startsWith('sent-') && may('POST /api/chat/start')
  // A hook wrote it, to make the agent continue.
  if (message._hooks) return <HookNotes notes={message._hooks} />
  if (editOf(actions.editing.value, message.id)) return <UserEditor id={message.id} />
  return (
    <article class="user">
      <div class="user-entry">
        <h3 class="tx-sr">{t('tx.you')}</h3>
        <div class={long && !whole.value ? 'user-text user-cut' : 'user-text'}>
          <UserText text={text} />
        </div>
        {long && (
          <button
            type="button"
            class="tx-more"
            aria-expanded={whole.value}
            onClick={() => {
              whole.value = !whole.value
            }}
          >
            {t(whole.value ? 'tx.less' : 'tx.more')}
          </button>
        )}
        {comments.length > 0 && <SentComments comments={comments} openFile={actions.openFile} />}
        {message.attachments && hasFiles && (
          <div
            class={message.attachments.some(isImagePath) ? 'user-attached-high' : 'user-attached'}
          >
            <Attachments names={message.attachments} />
          </div>
        )}
        {message._versions?.[1] && actions.showVersion && may('POST /api/session/version') && (
          <div class="user-versions">
            <Versions id={message.id} ids={message._versions} show={actions.showVersion} />
          </div>
        )}
      </div>
      <div class="tx-tools user-tools">
        <button
          type="button"
          class="tx-tool"
          title={t('tx.copy')}
          aria-label={t('tx.copy')}
          onClick={() => actions.copy(text)}
        >
          <Icon name="copy" />
        </button>
        {isStored && (
          <button
            type="button"
            class="tx-tool"
            title={t('tx.edit')}
            aria-label={t('tx.edit')}
            onClick={() => {
              const { editing } = actions
              editing.value = withEdit(editing.value, {
                ...{ id: message.id, text },
                ...{ files: [], uploads: 0 },
              })
            }}
          >
            <Icon name="edit" />
          </button>
        )}
      </div>
    </article>
  )
}
