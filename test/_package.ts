/** Archives of packages, as registries serve them and npm caches them. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

/** `files`: contents by name; a name that ends with `*` is executable. */
export const packPackage = async (
  files: Record<string, string>,
  folder = 'package',
): Promise<{ archive: Buffer; integrity: string }> => {
  const tar = pack()
  for (const [name, text] of Object.entries(files))
    tar.entry(
      { name: `${folder}/${name.replace('*', '')}`, mode: name.endsWith('*') ? 0o755 : 0o644 },
      text,
    )
  tar.finalize()
  const archive = gzipSync(Buffer.concat((await Array.fromAsync(tar)) as Buffer[]))
  return { archive, integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}` }
}

/** Below `_cacache/content-v2/sha512` of npm's cache. */
export const cachePath = (integrity: string): string => {
  const hex = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
  return `${hex.slice(0, 2)}/${hex.slice(2, 4)}/${hex.slice(4)}`
}
