/** Files of a workspace that did not follow to this machine of a cluster, as the person and the model are told: each once for each chat. */
import { relative } from 'node:path'
import { sentence, type Words } from '../../base/sentences.ts'
import { visibleName } from '../../base/visible.ts'
import { isBelow } from '../../store/path-within.ts'

const MAX_NAMED = 20

export class MissingFiles {
  readonly #paths: readonly string[]
  readonly #keys = new Set<string>()

  /** Absolute paths; empty where this machine is not the next owner of a cell. */
  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  /** Names in this workspace, with how many more there are; empty when that one was told, or nothing of it is missing. */
  tell(who: 'person' | 'model', sessionId: string, workspace: string): string {
    const key = `${who} ${sessionId}`
    if (this.#paths.length === 0 || this.#keys.has(key)) return ''
    this.#keys.add(key)
    const names = this.#paths
      .filter(path => isBelow(workspace, path))
      .map(path => visibleName(relative(workspace, path)))
    const more = names.length - MAX_NAMED
    return `${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? `, +${more}` : ''}`
  }
}

/** For the model, in front of what the person wrote. */
export const missingNote = (files: string): string =>
  files === ''
    ? ''
    : `[This chat continues on another machine. These files did not follow and are missing or older here: ${files}]\n`

export const missingWarning = (files: string): Words => sentence('turn.files_not_moved', { files })
