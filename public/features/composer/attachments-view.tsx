/** Attachments of the composer: chips, the line about a long text, and the button that picks files. */
import { useRef } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { t } from '../../strings/t.ts'
import { useComposer } from '../../contexts.ts'

const AttachmentList = lazy(
  async () => (await import('./attachment-list.tsx')).AttachmentList,
  true,
)
const Line = lazy(async () => (await import('./long-text-line.tsx')).LongTextLine, true)

export const AttachmentChips = () => {
  const { draft: composer, attachments } = useComposer()
  const isEmpty = composer.files.value.length === 0 && attachments.list.value.length === 0
  return isEmpty ? null : <AttachmentList />
}

export const LongTextLine = () =>
  useComposer().attachments.longTexts.longText.value === null ? null : <Line />

export const AttachButton = () => {
  const { attachments } = useComposer()
  const ref = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={ref}
        class="attach-input"
        type="file"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={event => {
          attachments.add([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
      <IconButton
        class="attach"
        icon="paperclip"
        label={t('attach.pick')}
        onClick={() => ref.current?.click()}
      />
    </>
  )
}
