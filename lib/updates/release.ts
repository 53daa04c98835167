/** Releases: a list of versions at a configured address, and the download of one, which must have the checksum that the list says. */
import { createHash } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { run } from '../base/process.ts'
import { isLoopbackHost } from '../base/local-network.ts'
import { invalid, messageOf, unavailable } from '../errors.ts'

const ReleaseFile = z.object({
  /** Relative to the list. */
  url: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().positive(),
})

/** What the address serves. `files`: `node` is the single file, `linux-x64` and the like are executables. */
export const Release = z.object({
  version: z.string().regex(/^v?\d+\.\d+\.\d+[\w.+-]*$/),
  /** The part of CHANGELOG.md since the version before. */
  notes: z.string().max(100_000).default(''),
  files: z.record(z.string(), ReleaseFile),
})
export type Release = z.infer<typeof Release>

const LIST_MS = 15_000
const DOWNLOAD_MS = 10 * 60_000
const MAX_LIST_CHARS = 1_000_000
const CHECK_MS = 60_000

const numbersOf = (version: string): number[] | null => {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)
  return match ? match.slice(1).map(Number) : null
}

/** False when a version is no three numbers: a build from a checkout between two releases has no order. */
export const isNewer = (version: string, than: string): boolean => {
  const [a, b] = [numbersOf(version), numbersOf(than)]
  if (!a || !b) return false
  const at = a.findIndex((number, index) => number !== b[index])
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0)
}

/** Over https, because the checksum comes from there as well; without it on this computer only. */
export const releaseAddress = (address: string): URL => {
  const url = URL.canParse(address) ? new URL(address) : null
  const isLocal = url !== null && isLoopbackHost(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url
  throw invalid(`AGENT_WEBUI_RELEASES must be an https address, not "${address}".`, {
    code: 'update_address',
  })
}

/** Redirects are followed to https only. */
const get = async (url: URL, timeoutMs: number): Promise<Response> => {
  let response: Response
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    throw unavailable(`${url.host} cannot be reached: ${messageOf(error)}`, {
      code: 'update_unreachable',
    })
  }
  releaseAddress(response.url || url.href)
  if (!response.ok)
    throw unavailable(`${url.host} answered ${response.status}.`, { code: 'update_unreachable' })
  return response
}

export const fetchRelease = async (address: string): Promise<Release> => {
  const response = await get(releaseAddress(address), LIST_MS)
  const text = await response.text()
  try {
    if (text.length > MAX_LIST_CHARS) throw new Error('it is too long')
    return Release.parse(JSON.parse(text))
  } catch {
    throw unavailable(`${address} is no list of releases.`, { code: 'update_unreachable' })
  }
}

/** The bytes of a download. Throws a UserError when the connection ends before they do. */
async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response.body ?? []) yield chunk
  } catch {
    // Undici says only "terminated".
    const { host } = new URL(response.url)
    throw unavailable(`The download from ${host} ended early. Nothing was changed.`, {
      code: 'update_cut',
    })
  }
}

/** Writes the file to `target` and compares its size and checksum. Nothing is left when that fails. */
export const downloadRelease = async (
  release: Release,
  { address, kind, target }: { address: string; kind: string; target: string },
): Promise<void> => {
  const file = release.files[kind]
  if (!file)
    throw invalid(`${release.version} has no file for ${kind}.`, {
      code: 'update_no_file',
      values: { version: release.version },
    })
  const response = await get(releaseAddress(new URL(file.url, address).href), DOWNLOAD_MS)
  rmSync(target, { force: true })
  const fd = openSync(target, 'wx', 0o600)
  const hash = createHash('sha256')
  try {
    let size = 0
    for await (const chunk of chunksOf(response)) {
      size += chunk.length
      if (size > file.size) break
      hash.update(chunk)
      for (let done = 0; done < chunk.length; ) done += writeSync(fd, chunk, done)
    }
    if (size !== file.size || hash.digest('hex') !== file.sha256)
      throw unavailable(
        'The download does not have the checksum of the release. Nothing was changed.',
        { code: 'update_checksum' },
      )
    fsyncSync(fd)
    chmodSync(target, 0o755)
  } catch (error) {
    rmSync(target, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Runs the new file: it must know its version, and be able to check the setup. Throws a UserError otherwise. */
export const tryProgram = async (
  command: readonly [file: string, ...args: string[]],
  { version, env, cwd }: { version: string; env: Readonly<Record<string, string>>; cwd: string },
): Promise<void> => {
  const [file, ...args] = command
  const result = async (...more: string[]) => {
    const limits = { timeoutMs: CHECK_MS, maxBytes: 1_000_000 }
    return run(file, [...args, ...more], { cwd, env: { ...env }, ...limits })
  }
  const failed = (why: string) =>
    unavailable(`The new version does not run here: ${why}. Nothing was changed.`, {
      code: 'update_not_running',
      values: { reason: why },
    })
  try {
    const named = await result('--version')
    if (named.code !== 0 || !named.stdout.toString().includes(version.replace(/^v/, '')))
      throw failed(named.tail.trim().slice(-200) || 'it does not say its version')
    const checked = await result('doctor', '--json')
    JSON.parse(checked.stdout.toString())
  } catch (error) {
    if (error instanceof SyntaxError) throw failed('doctor found no way to check the setup')
    throw error
  }
}
