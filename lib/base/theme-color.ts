/** The background of each theme, for what the browser paints itself: the title bar and the start screen of the installed app. */

/** `--bg` of public/style/themes; a test compares them. */
export const THEME_COLORS: Readonly<Record<string, string>> = {
  dark: '#191915',
  light: '#faf8f3',
  mist: '#f5f7f9',
  solarized: '#002b36',
  monokai: '#272822',
  nord: '#2e3440',
  contrast: '#000000',
}

/** Of an unknown theme, or of `system`, the color of the default theme. */
export const themeColor = (theme: string): string => THEME_COLORS[theme] ?? THEME_COLORS.dark!
