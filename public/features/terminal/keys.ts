/** Keys of the terminal: which ones stay with the page, and those that a phone has no key for. */

type KeyLike = Pick<
  KeyboardEvent,
  'type' | 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'
> & { code?: string }

/**
 * Shift+Escape leaves the terminal, Ctrl+` hides it, and Ctrl+Shift with a letter is a shortcut of the page or the browser: no program in a
 * terminal can tell it from Ctrl with that letter.
 */
export const isForPage = ({ key, code, ctrlKey, shiftKey }: KeyLike): boolean =>
  shiftKey
    ? key === 'Escape' || (ctrlKey && /^[a-z]$/i.test(key))
    : ctrlKey && (code === 'Backquote' || key === '`')

export const isCopy = ({ type, key, ctrlKey, shiftKey }: KeyLike): boolean =>
  type === 'keydown' && ctrlKey && shiftKey && key.toLowerCase() === 'c'

/** What Ctrl makes of a typed character (ASCII control characters); other text is unchanged. */
export const withCtrl = (text: string): string =>
  /^[@-_a-z ]$/.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 0x1f) : text

const ARROWS = { up: 'A', down: 'B', right: 'C', left: 'D' } as const
export type Arrow = keyof typeof ARROWS

/** In application mode (DECCKM) arrows begin with SS3. */
export const arrowKey = (arrow: Arrow, isApplication: boolean): string =>
  `\x1b${isApplication ? 'O' : '['}${ARROWS[arrow]}`
