/** Types of first-load.mjs for the tests. */
import type { BuildResult } from 'esbuild'

export function joinFirstLoad(
  built: BuildResult<{ write: false; metafile: true }>,
  entry: string,
  options?: { later?: readonly string[]; minify?: boolean },
): Promise<{
  mainFile: string
  files: Map<string, string | Uint8Array>
  chunksOf(module: string): string[]
}>
