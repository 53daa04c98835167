/** Names of keys and chords. */
import { t } from '../../strings/t.ts'

export type KeyLike = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'> & {
  code?: string
}

/** Chord of an event such as `mod+shift+k`, with modifiers in the order of the table. */
export const chordOf = (event: KeyLike, mac: boolean): string => {
  // Also where it is a dead key; with Ctrl on a Mac as well, where ⌘ switches windows.
  if (event.ctrlKey && event.code === 'Backquote') return 'ctrl+`'
  const mod = mac ? event.metaKey : event.ctrlKey
  const key = event.key.toLowerCase()
  // Characters that need Shift, such as `?`, are named without it.
  const shift = event.shiftKey && (key.length > 1 || /[a-z0-9]/.test(key))
  return [mod && 'mod', shift && 'shift', event.altKey && 'alt', key].filter(Boolean).join('+')
}

const KEY_LABELS: Record<string, string> = {
  up: '↑',
  down: '↓',
  arrowup: '↑',
  arrowdown: '↓',
  enter: '↵',
  escape: 'Esc',
  delete: 'Del',
  alt: 'Alt',
  ctrl: 'Ctrl',
}

/** Display form: `⌘K` on a Mac, `Ctrl K` elsewhere. */
export const formatKeys = (keys: string, mac: boolean): string =>
  keys
    .split('+')
    .map(key => {
      if (key === 'mod') return mac ? '⌘' : 'Ctrl'
      if (key === 'shift') return mac ? '⇧' : 'Shift'
      return key
        .split(' ')
        .map(part => KEY_LABELS[part] ?? (part.length === 1 ? part.toUpperCase() : part))
        .map(part => (/^f\d+$/.test(part) ? part.toUpperCase() : part))
        .join(' ')
    })
    .join(mac ? '' : ' ')

export const modName = (mac: boolean): string => (mac ? '⌘' : 'Ctrl')
export const sendHint = (key: 'enter' | 'ctrl+enter', mac: boolean): string =>
  key === 'enter' ? t('composer.hint.enter') : t('composer.hint.mod', { key: modName(mac) })
