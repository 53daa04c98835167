/** The page's files: packed into the one file, or built in memory when the sources run as they are. */
import type { AssetTable } from './http/static.ts'
import type { Packed } from './packed.ts'

/** The table, read or built when a page is first asked for: a service that only answers the API never waits for it. */
export const createAssets = (packed: Packed | undefined): (() => Promise<AssetTable>) => {
  let built: Promise<AssetTable> | undefined
  return () => {
    built ??= packed ? Promise.resolve(packed.assets) : build()
    return built
  }
}

const build = async (): Promise<AssetTable> => {
  // Development only: the one file neither holds nor needs the bundler.
  const { buildAssets } = await import('../build/browser.mjs')
  return buildAssets()
}
