/** Colors and font of a terminal from the tokens of the page's theme. */
import type { ITheme } from '@xterm/xterm'

/**
 * Blue, magenta and cyan have no token: xterm.js has its own, and keeps them readable on the theme's background
 * (`minimumContrastRatio`).
 */
export const themeOf = (styles: CSSStyleDeclaration): ITheme => {
  const token = (name: string) => styles.getPropertyValue(`--${name}`).trim()
  return {
    background: token('bg-sunken'),
    foreground: token('text'),
    cursor: token('accent'),
    cursorAccent: token('bg-sunken'),
    selectionBackground: token('sel'),
    red: token('bad'),
    brightRed: token('bad'),
    green: token('ok'),
    brightGreen: token('ok'),
    yellow: token('warn'),
    brightYellow: token('warn'),
    white: token('text-dim'),
    brightWhite: token('text'),
    black: token('bg-raised'),
    brightBlack: token('text-faint'),
  }
}

export const fontOf = (styles: CSSStyleDeclaration): string =>
  styles.getPropertyValue('--mono').trim() || 'monospace'

/** Calls back when the theme of the page changes. Returns a function that ends it. */
export const onThemeChange = (changed: () => void): (() => void) => {
  const observer = new MutationObserver(changed)
  observer.observe(document.documentElement, { attributes: true })
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  scheme.addEventListener('change', changed)
  return () => {
    observer.disconnect()
    scheme.removeEventListener('change', changed)
  }
}
