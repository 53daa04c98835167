/** The line about a long text: attaches it as a file, or puts it into the message. */
import { useComposer, useShell } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import type { LongText } from './long-text.ts'
import { t } from './long-text-strings.ts'

const words = ({ kind, chars: count }: LongText): string =>
  kind === 'attached'
    ? t('attach.pasted.attached', { count })
    : t(kind === 'long' ? 'attach.long' : 'attach.pasted', { count })

export const LongTextLine = () => {
  const { attachments, draft: composer } = useComposer()
  const { layout } = useShell()
  const longText = attachments.longTexts.longText.value
  if (longText === null) return null
  const back = () => {
    layout.composerFocus.value += 1
  }
  const insert = (text: string) => {
    document.getElementById(layout.composerId)?.focus()
    // Unlike a change of its value, the field can undo this.
    if (!document.execCommand('insertText', false, text)) composer.edit(composer.text.value + text)
  }
  const canInsert = longText.kind === 'attached' && longText.canInsert
  return (
    <div class="paste-offer" role="status">
      <span>{words(longText)}</span>
      {longText.kind !== 'attached' && (
        <button
          type="button"
          class="tx-link"
          onClick={() => {
            attachments.longTexts.attachText()
            back()
          }}
        >
          {t('attach.pasted.file')}
        </button>
      )}
      {canInsert && (
        <button
          type="button"
          class="tx-link"
          onClick={() => attachments.longTexts.insertText(insert)}
        >
          {t('attach.pasted.insert')}
        </button>
      )}
      {longText.kind !== 'long' && (
        <IconButton
          icon="close"
          size={12}
          label={t(longText.kind === 'pasted' ? 'attach.pasted.keep' : 'app.close')}
          onClick={() => {
            attachments.longTexts.dismissText()
            back()
          }}
        />
      )}
    </div>
  )
}
