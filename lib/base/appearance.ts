/** Choices of the appearance, shared by the settings of the server and the page. */
export const ACCENTS = ['theme', 'blue', 'violet', 'plum', 'ink'] as const
export const FONT_SIZES = ['small', 'default', 'large', 'larger'] as const
export const DENSITIES = ['comfortable', 'compact'] as const
export const READING_FONTS = ['sans', 'serif', 'system'] as const
