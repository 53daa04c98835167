/** What is done before the program is replaced: a download that was checked, a copy of the old program, and a process that watches. */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf, unavailable } from '../errors.ts'
import { downloadRelease, fetchRelease, isNewer, tryProgram } from './release.ts'
import {
  keepPrevious,
  putInPlace,
  type SwitchRecord,
  whyNotReplaceable,
  writeRecord,
} from './switch-program.ts'

/** The single file or executable that is running. */
export type OwnProgram = {
  file: string
  stateDir: string
  /** Its name in the files of a release. */
  kind: string
  commandFor: (file: string, args: readonly string[]) => [string, ...string[]]
  /** How it was started, and where it answers. */
  facts: () => Pick<SwitchRecord, 'command' | 'args' | 'cwd' | 'address' | 'pid' | 'supervised'>
  /** Starts the process that watches the new version; resolves when it runs. */
  watch: (previous: string, record: string) => Promise<void>
}

export type Prepared = {
  previous: string
  from: string
  to: string
  checkout: SwitchRecord['checkout']
  /** The new file, when it is not in its place yet. */
  next?: string
}

/** From here on, another process puts the old program back if the new one does not answer. */
export const guardSwitch = async (
  { file, stateDir, facts, watch }: OwnProgram,
  { previous, from, to, checkout, next }: Prepared,
): Promise<void> => {
  const record = writeRecord({
    version: 1,
    program: file,
    previous,
    from,
    to,
    checkout,
    state_dir: stateDir,
    ...facts(),
  })
  await watch(previous, record)
  if (next !== undefined) putInPlace(next, file)
}

/** Throws a UserError when the service's own files cannot be saved: then nothing may be changed. */
export const saveFirst = async (snapshot: (() => Promise<void>) | undefined): Promise<void> => {
  try {
    await snapshot?.()
  } catch (error) {
    throw unavailable(
      `The backup before the update failed, so nothing was changed: ${messageOf(error)}`,
      { code: 'update_backup_failed', values: { reason: messageOf(error) } },
    )
  }
}

/** Two more files of the program's size are written beside it. */
const asUserError = (error: unknown, file: string): unknown => {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? unavailable(
        `There is no space left in ${dirname(file)} for the new version. Nothing was changed.`,
        { code: 'update_no_space', values: { folder: dirname(file) } },
      )
    : error
}

/** Downloads and tries the newest release; null when there is no newer one. Throws a UserError with nothing changed. */
export const prepareRelease = async (
  own: OwnProgram,
  given: {
    address: string
    version: string
    env: Readonly<Record<string, string>>
    save: () => Promise<void>
  },
): Promise<Prepared | null> => {
  const { address, version, env, save } = given
  const release = await fetchRelease(address)
  if (!isNewer(release.version, version)) return null
  const why = whyNotReplaceable(own.file)
  if (why !== null)
    throw unavailable(why, {
      code: 'update_not_replaceable',
      values: { folder: dirname(own.file) },
    })
  await save()
  const isFile = own.file.endsWith('.mjs')
  const next = isFile ? own.file.replace(/\.mjs$/, '.next.mjs') : `${own.file}.next`
  try {
    await downloadRelease(release, { address, kind: own.kind, target: next })
    const command = own.commandFor(next, [])
    await tryProgram(command, { version: release.version, env, cwd: own.stateDir })
    const previous = keepPrevious(own.file)
    return { previous, next, from: version, to: release.version, checkout: null }
  } catch (error) {
    rmSync(next, { force: true })
    throw asUserError(error, own.file)
  }
}
