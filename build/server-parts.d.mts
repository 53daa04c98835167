/** A part of the server. `source`: the file of a module of ours, or of a package that is imported at run time. */
export type Part = { name: string; code: string; source: string | undefined }
export const bundleServer: () => Promise<Part[]>
/** One script of several parts: an object of functions by name. */
export const joinParts: (parts: readonly Part[]) => string
export const withLateHandlers: (source: string) => string
export const withLateImports: (code: string) => string
