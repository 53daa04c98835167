/** The assets of the page: from the bundle, or built in memory when running from sources. */
import type { AssetTable } from '../store/packed.ts'
import type { Packed } from '../store/packed.ts'

/** Returns a function that loads the asset table on first use, so that API-only use never waits for it. */
export const createAssets = (packed: Packed | undefined): (() => Promise<AssetTable>) => {
  let built: Promise<AssetTable> | undefined
  return () => {
    built ??= packed ? Promise.resolve(packed.assets) : build()
    return built
  }
}

const build = async (): Promise<AssetTable> => {
  // Development only: the bundle does not include the bundler.
  const { buildAssets } = await import('../../build/browser.mjs')
  return buildAssets()
}
