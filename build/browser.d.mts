/** Types of what `browser.mjs` offers to an unbuilt run and to tests. */
import type { BuildResult } from 'esbuild'
import type { Asset, AssetTable } from '../lib/http/static.ts'

export const bundleBrowser: (options?: {
  minify?: boolean
}) => Promise<BuildResult<{ write: false; metafile: true }>>
export const AFTER_FIRST_VIEW: readonly (readonly string[])[]
/** As a build has them: minified. */
export const listAssets: () => Promise<{ assets: [path: string, asset: Asset][] }>
export const buildAssets: () => Promise<AssetTable>
