/** The page's files: packed into the one file, or built in memory when the sources run as they are. */
import type { AssetTable } from './http/static.ts'
import type { Packed } from './packed.ts'

export const loadAssets = async (packed: Packed | undefined): Promise<AssetTable> => {
  if (packed) return packed.assets
  // Development only: the one file neither holds nor needs the bundler.
  const { buildAssets } = await import('../build.mjs')
  return buildAssets()
}
