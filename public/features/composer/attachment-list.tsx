/** Chips of the composer's attachments: their picture, size, and upload progress. */
import { useSignal } from '@preact/signals'
import { visibleName } from '../../../lib/base/visible.ts'

import { urlOf } from '../../api.ts'
import { formatBytes, isImagePath, fileName } from '../../parts/file-kind.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Attachment } from './attachments.ts'
import { t } from './attachment-list-strings.ts'
import { useChat, useComposer, useShell } from '../../contexts.ts'

/** Falls back to a file icon when the image can't be shown. */
const Thumb = ({ src }: { src: string | null }) => {
  const broken = useSignal(false)
  if (!src || broken.value) return <Icon name="file" size={14} />
  return (
    <img
      class="file-thumb"
      src={src}
      alt=""
      onError={() => {
        broken.value = true
      }}
    />
  )
}

const Chip = ({ path }: { path: string }) => {
  const { attachments, draft: composer } = useComposer()
  const { transcript: chat } = useChat()
  const { base } = useShell()
  const session_id = chat.sessionId.value
  const arrival = attachments.arrived.value.get(path)
  const isPicture = isImagePath(path) && session_id !== ''
  const query = { session_id, path }
  // A pasted picture is kept with the chat and named by its whole path.
  const route = path.startsWith('/') ? 'api/media' : 'api/file/raw'
  const src = arrival?.picture ?? (isPicture ? urlOf(base, route, query) : null)
  return (
    <li class="file" title={visibleName(path)}>
      <Thumb src={src} />
      <bdi class="file-name">{visibleName(fileName(path))}</bdi>
      {arrival && <span class="file-size">{formatBytes(arrival.sizeBytes)}</span>}
      <IconButton
        icon="close"
        size={12}
        label={t('remove', { name: path })}
        onClick={() => composer.removeFile(path)}
      />
    </li>
  )
}

const Sending = ({ attachment }: { attachment: Attachment }) => {
  const { attachments } = useComposer()
  const { id, name, sizeBytes: size, sentBytes, state, error, more } = attachment
  const hasFailed = state === 'failed'
  const percent = size > 0 ? Math.floor((100 * sentBytes) / size) : 100
  return (
    <li class={hasFailed ? 'file file-failed' : 'file'} title={visibleName(name)}>
      <Thumb src={more.picture} />
      <bdi class="file-name">{visibleName(name)}</bdi>
      <span class="file-size">{hasFailed ? error : formatBytes(size)}</span>
      {hasFailed ? (
        <span class="sr-only" role="alert">
          {t('failed', { name, reason: error })}
        </span>
      ) : (
        <progress
          class="file-progress"
          max={100}
          value={percent}
          aria-label={t('attach.uploading', { name, percent })}
        />
      )}
      {attachments.canRetry(attachment) && (
        <IconButton
          icon="refresh"
          size={12}
          label={t('retry', { name })}
          onClick={() => attachments.retry(id)}
        />
      )}
      <IconButton
        icon="close"
        size={12}
        label={t('remove', { name })}
        onClick={() => attachments.remove(id)}
      />
    </li>
  )
}

export const AttachmentList = () => {
  const { draft: composer, attachments } = useComposer()
  return (
    <ul class="files" aria-label={t('attached')}>
      {composer.files.value.map(path => (
        <Chip key={path} path={path} />
      ))}
      {attachments.list.value.map(attachment => (
        <Sending key={attachment.id} attachment={attachment} />
      ))}
    </ul>
  )
}
