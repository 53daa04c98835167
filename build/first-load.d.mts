/** Types of first-load.mjs for the tests. */
import type { BuildResult } from 'esbuild'

export function joinFirstLoad(
  built: BuildResult<{ write: false; metafile: true }>,
  entry: string,
  options?: { later?: readonly string[]; after?: readonly (readonly string[])[]; minify?: boolean },
): Promise<{
  mainFile: string
  files: Map<string, string | Uint8Array>
  /** The file that an output of the build became, or became a part of. */
  fileOf: (path: string) => string
  chunksOf(module: string): string[]
}>
