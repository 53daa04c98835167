export const FONTS_DIRECTORY: string
