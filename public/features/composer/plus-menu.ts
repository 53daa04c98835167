/** What the ＋ of the composer has: files, dictation, commands, mentions, a personality. */
import type { App } from '../../app.ts'
import type { MenuItem } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { t as inDictation } from './dictate-strings.ts'
import { t as inKeys } from '../shell/shortcut-strings.ts'

/** `pick`: opens the file picker of the browser. */
export const plusMenu = ({ composer, pane, shell }: App, pick: () => void): MenuItem[] => {
  const { draft, completion, dictation } = composer
  const type = (text: string) => {
    draft.edit(text)
    completion.update(text, text.length)
    pane.focusComposer()
  }
  const draftText = draft.text.peek()
  const spoken = dictation.peek()
  return [
    { label: t('attach.pick'), icon: 'paperclip', run: pick },
    ...(spoken?.available.peek()
      ? [
          {
            label: inDictation('dictate.start'),
            icon: 'mic' as const,
            run: () => void spoken.toggle(),
          },
        ]
      : []),
    'line',
    // A command is the whole message.
    ...(draftText.trim() === ''
      ? [
          {
            label: inKeys('keys.commands'),
            icon: 'terminal' as const,
            keys: '/',
            run: () => type('/'),
          },
        ]
      : []),
    {
      label: inKeys('keys.mention'),
      icon: 'file',
      keys: '@',
      run: () => type(draftText === '' ? '@' : `${draftText.trimEnd()} @`),
    },
    // Once chosen, it has a chip.
    ...(composer.personalities.list.peek().length > 0
      ? [
          {
            label: t('chip.personality'),
            icon: 'user' as const,
            run: () => {
              shell.layout.picker.value = 'personality'
            },
          },
        ]
      : []),
  ]
}
