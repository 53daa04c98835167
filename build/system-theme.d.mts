/** Types of system-theme.mjs. */
export const withSystemTheme: (css: string) => string
