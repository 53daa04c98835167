/** Types of install.mjs. */
export function installPackages(options: {
  modules: string
  packages: readonly (readonly [path: string, entry: object])[]
  lock: object
  env: Readonly<Record<string, string | undefined>>
}): Promise<void>
