/** User message: can be copied or edited in place. */
import { useSignal } from '@preact/signals'
import { usePart } from '../../parts/use-part.ts'

import { splitComments } from '../../../lib/base/comment-text.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { useLightbox } from '../lightbox/use-lightbox.ts'
import { isImagePath, nameOf } from '../../parts/file-kind.ts'
import { editOf, withEdit } from '../messages/editing.ts'
import { withoutFiles } from '../messages/message-text.ts'
import { t } from '../../strings/transcript-strings.ts'
import { textOf } from './content.ts'
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

const HookNotes = lazy(async () => (await import('../tool-calls/hook-notes.tsx')).HookNotes, true)

const SentComments = lazy(
  async () => (await import('../review/sent-comments.tsx')).SentComments,
  true,
)

/** Longer messages are collapsed. */
const isLong = (text: string): boolean => text.length > 1400 || text.split('\n', 18).length > 16

export function UserRowView({ message }: { message: Message }) {
  const { actions } = useTranscript()
  const whole = useSignal(false)
  const named = (message.attachments?.length ?? 0) > 0
  // Files are listed below as links, so their names are removed from the text.
  const { text, comments } = splitComments(named ? withoutFiles(textOf(message)) : textOf(message))
  const long = isLong(text)
  const stored = !message.id.startsWith('sent-') && may('POST /api/chat/start')
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
        <Attachments names={message.attachments ?? []} />
        {message._versions && <Versions id={message.id} ids={message._versions} />}
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
        {stored && (
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

/** Which version of the message is shown, and the way to its neighbors. */
function Versions({ id, ids }: { id: string; ids: readonly string[] }) {
  const { actions } = useTranscript()
  const { showVersion } = actions
  if (ids.length < 2 || !showVersion || !may('POST /api/session/version')) return null
  const at = ids.indexOf(id)
  const button = (label: string, sign: string, to: string | undefined) => (
    <button
      type="button"
      class="tx-tool"
      title={label}
      aria-label={label}
      disabled={to === undefined}
      onClick={() => to !== undefined && showVersion(to)}
    >
      {sign}
    </button>
  )
  const place = { n: at + 1, count: ids.length }
  return (
    <div class="user-versions">
      <span class="tx-sr">{t('tx.version', place)}</span>
      {button(t('tx.version.previous'), '‹', ids[at - 1])}
      <span aria-hidden="true">{`${place.n}/${place.count}`}</span>
      {button(t('tx.version.next'), '›', ids[at + 1])}
    </div>
  )
}

/** Relative to the page's base. A picture that is kept with the chat is named by its whole path. */
const rawUrl = (session: string, path: string): string =>
  `api/${path[0] === '/' ? 'media' : 'file/raw'}?session_id=${encodeURIComponent(session)}&path=${encodeURIComponent(path)}`

/** Images as thumbnails, other files by name. */
function Attachments({ names }: { names: readonly string[] }) {
  const broken = useSignal<readonly string[]>([])
  const show = useLightbox()
  const { chat, actions } = useTranscript()
  const { openFile } = actions
  const session = usePart(chat, ({ sessionId }) => sessionId)
  if (names.length === 0) return null
  const isPicture = (name: string): boolean =>
    session !== '' && isImagePath(name) && !broken.value.includes(name)
  const pictures = names.filter(isPicture)
  const files = names.filter(name => !isPicture(name))
  return (
    <>
      {pictures.length > 0 && (
        <ul class="user-pictures" aria-label={t('tx.attached')}>
          {pictures.map(name => (
            <li key={name}>
              <button
                type="button"
                title={name}
                aria-label={t('tx.file.open', { name })}
                data-picture
                onClick={show}
              >
                <img
                  src={rawUrl(session, name)}
                  alt={nameOf(name)}
                  loading="lazy"
                  onError={() => {
                    broken.value = [...broken.value, name]
                  }}
                />
              </button>
            </li>
          ))}
        </ul>
      )}
      {files.length > 0 && <FileNames names={files} openFile={openFile} />}
    </>
  )
}

type FileNamesProps = { names: readonly string[]; openFile: ((path: string) => void) | undefined }

function FileNames({ names, openFile }: FileNamesProps) {
  return (
    <ul class="user-files" aria-label={t('tx.attached')}>
      {names.map(name => (
        <li key={name}>
          <Icon name="paperclip" size={14} />{' '}
          {openFile && !name.endsWith('/') ? (
            <button
              type="button"
              class="tx-link"
              aria-label={t('tx.file.open', { name })}
              onClick={() => openFile(name)}
            >
              {nameOf(name)}
            </button>
          ) : (
            nameOf(name)
          )}
        </li>
      ))}
    </ul>
  )
}
