/** `[name, bytes]` of every file in build/fonts. */
export const makeFonts: () => Promise<[name: string, bytes: Buffer][]>
