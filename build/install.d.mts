/** Types of install.mjs. */
export type Named = readonly [path: string, entry: Readonly<Record<string, unknown>>]

export function installPackages(options: {
  modules: string
  packages: readonly Named[]
  lock: object
  env: Readonly<Record<string, string | undefined>>
  addressOf: (named: Named) => Promise<string | undefined>
}): Promise<void>
