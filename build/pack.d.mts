/** Parts of the server: name, code, and for those that are imported at run time, the file. */
export const bundleServer: () => Promise<[name: string, code: string, source: string | undefined][]>
