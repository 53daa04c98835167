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
const safeName = (path: string): string => {
  const name = (path.split(/[/\\]/).at(-1) ?? '')
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
  readonly #paths = new Map<unknown, string | null>()
  readonly #names = new Set<string>()

  constructor(sessionId: string, exported: ExportFile, leaveOut: LeaveOut) {
    this.#sessionId = sessionId
    this.#exported = exported
    this.#leaveOut = leaveOut
  }

  /** `name`, or with a number what no other file of the chat has. */
  #freeName(name: string): string {
    const dot = name.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
    let free = name
    for (let n = 2; this.#names.has(free.toLowerCase()); n++) free = `${stem}-${n}${ending}`
    this.#names.add(free.toLowerCase())
    return free
  }

  #plan({ name, id, data, isImage }: FileRef): string | null {
    const file = data ? undefined : this.#exported.find(name, id)
    if (!data && !file) {
      this.#leaveOut('file_missing', name)
      return null
    }
    if ((file?.size ?? 0) > MAX_FILE_BYTES) {
      this.#leaveOut('file_too_large', name)
      return null
    }
    // A reference without a name has that of the file.
    const isNamed = name !== id && /\.\w+$/.test(name)
    const safe = safeName(file && !isNamed ? nameIn(file.name, id) : name)
    const own = isImage ? safe.replace(/\.dat$|(?<!\.\w+)$/i, '.png') : safe
    const path = `imported-files/${this.#sessionId}/${this.#freeName(own)}`
    this.planned.push({ path, open: file ? file.open : async () => Readable.from([data]) })
    return path
  }

  pathOf(ref: FileRef): string | null {
    const key = ref.data ?? ref.id ?? ref.name
    const earlier = this.#paths.get(key)
    if (earlier !== undefined) return earlier
    const path = this.#plan(ref)
    this.#paths.set(key, path)
    return path
  }
}
