/** The files of a chat: which of them the export has, and where each goes in the workspace. */
import { Readable } from 'node:stream'
import type { FileRef, LeaveOut } from './conversation.ts'
import type { ExportFile } from './export-file.ts'

const MAX_FILE_BYTES = 512 * 1024 * 1024
/** File systems allow 255. */
const MAX_STEM_BYTES = 180

/** `open` may be called again for another try. */
export type PlannedFile = { path: string; open: () => Promise<Readable> }

/** Letters and digits of any script, `_`, `.` and `-` of the last part of a path. */
const safeName = (given: string): string => {
  const name = (given.split(/[/\\]/).at(-1) ?? '')
    .toWellFormed()
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}_.-]/gu, '_')
    .replace(/^\.+/, '')
  const ending = /(?<=.)\.[\p{L}\p{N}]{1,12}$/u.exec(name)?.[0] ?? ''
  const stem = Buffer.from(name.slice(0, name.length - ending.length))
    .subarray(0, MAX_STEM_BYTES)
    .toString()
    .replace(/\ufffd$/, '')
  // The agent takes such files of a folder in which it works for instructions.
  const isInstructions = /^(?:agents?|claude|gemini|hermes|soul)\.md$/i.test(name)
  return `${isInstructions ? 'file-' : ''}${stem}${ending}` || 'file'
}

/** Without the id that the archive puts before it: `photo.png` of `file-AbC-photo.png`. */
const nameIn = (name: string, id: string | undefined): string =>
  id !== undefined && name.startsWith(`${id}-`) ? name.slice(id.length + 1) : name

/** What a chat refers to, planned once each. */
export class FilePlan {
  readonly planned: PlannedFile[] = []
  readonly #sessionId: string
  readonly #exported: ExportFile
  readonly #leaveOut: LeaveOut
  readonly #known = new Map<unknown, string | null>()
  readonly #taken = new Set<string>()

  constructor(sessionId: string, exported: ExportFile, leaveOut: LeaveOut) {
    this.#sessionId = sessionId
    this.#exported = exported
    this.#leaveOut = leaveOut
  }

  /** `wanted`, or with a number what no other file of the chat has. */
  #freeName(wanted: string): string {
    const dot = wanted.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [wanted.slice(0, dot), wanted.slice(dot)] : [wanted, '']
    let free = wanted
    for (let n = 2; this.#taken.has(free.toLowerCase()); n++) free = `${stem}-${n}${ending}`
    this.#taken.add(free.toLowerCase())
    return free
  }

  #plan({ name, id, data, isImage }: FileRef): string | null {
    const found = data ? undefined : this.#exported.find(name, id)
    if (!data && !found) {
      this.#leaveOut('file_missing', name)
      return null
    }
    if ((found?.size ?? 0) > MAX_FILE_BYTES) {
      this.#leaveOut('file_too_large', name)
      return null
    }
    // A reference without a name has that of the file.
    const isNamed = name !== id && /\.\w+$/.test(name)
    const given = safeName(found && !isNamed ? nameIn(found.name, id) : name)
    const own = isImage ? given.replace(/\.dat$|(?<!\.\w+)$/i, '.png') : given
    const path = `imported-files/${this.#sessionId}/${this.#freeName(own)}`
    this.planned.push({ path, open: found ? found.open : async () => Readable.from([data]) })
    return path
  }

  pathOf(ref: FileRef): string | null {
    const key = ref.data ?? ref.id ?? ref.name
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const path = this.#plan(ref)
    this.#known.set(key, path)
    return path
  }
}
