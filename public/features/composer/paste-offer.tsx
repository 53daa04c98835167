/** Offers to attach a long pasted text as a file. */
import { useComposer, useShell } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'

export const PasteOffer = () => {
  const { attachments } = useComposer()
  const { layout } = useShell()
  const text = attachments.pasteOffer.value
  if (text === null) return null
  const back = () => {
    layout.composerFocus.value += 1
  }
  return (
    <div class="paste-offer" role="status">
      <span>{t('attach.pasted', { count: text.length })}</span>
      <button
        type="button"
        class="tx-link"
        onClick={() => {
          attachments.attachPaste()
          back()
        }}
      >
        {t('attach.pasted.file')}
      </button>
      <IconButton
        icon="close"
        size={12}
        label={t('attach.pasted.keep')}
        onClick={() => {
          attachments.dismissPaste()
          back()
        }}
      />
    </div>
  )
}
