/** A part of the server. `source`: the file, for those that are imported at run time. */
export type Part = { name: string; code: string; source: string | undefined; isFirst: boolean }
export const bundleServer: () => Promise<Part[]>
/** The script with the parts that every start loads. */
export const startupScript: (parts: readonly Part[]) => string
export const withLateHandlers: (source: string) => string
