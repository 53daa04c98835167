/** Adds the instruction files of a directory to the result of the first tool call for a file in it, once per conversation. */
import { dirname } from 'node:path'
import { asObject, fieldsOf } from '../base/json.ts'
import { withField } from './error-result.ts'
import { truncateText } from './prompt.ts'
import type { Run } from './run.ts'
import type { LoopMessage, WireMessage } from './types.ts'

/** An instruction file that applies to the files of a directory. Paths are absolute; `applies_to` ends with a separator. */
export type DirectoryInstructions = { file: string; applies_to: string; text: string }

/** Instruction files of directories, which the model gets with the result of its first tool call for a file there. */
export type NestedInstructions = {
  /** Those that the system prompt contains. */
  inPrompt: readonly string[]
  /** Those that apply to a file, outermost first, without the known ones. Must not throw. */
  of: (file: string, knownFiles: ReadonlySet<string>) => readonly DirectoryInstructions[]
}

/** The field of a result that holds them. They are not in the system prompt, because what was sent must not change. */
const FIELD = '_instructions'

/** What remains at least of a text, with the note that it was cut. */
const MIN_CHARS = 300

/** The result with the instructions: as a field of a JSON object, else as its last line. */
export const withInstructions = (
  content: string,
  instructions: readonly DirectoryInstructions[],
): string => {
  return instructions.length === 0 ? content : withField(content, FIELD, instructions)
}

/** The instruction files that tool results of the conversation contain, by absolute path. */
export const instructionFilesIn = (messages: readonly WireMessage[]): string[] =>
  messages.flatMap(({ role, content }) => {
    if (role !== 'tool' || typeof content !== 'string' || !content.includes(`"${FIELD}":[`))
      return []
    const last = content.slice(content.lastIndexOf('\n') + 1)
    const list = fieldsOf(content)[FIELD] ?? fieldsOf(last)[FIELD]
    return Array.isArray(list) ? list.map(entry => String(asObject(entry).file)) : []
  })

/** The instructions of a run for the files that its tools touch. */
export class InstructionLookup {
  readonly #run: Run
  /** Directories whose files the model can read in these messages. */
  #visible: { messages: readonly LoopMessage[]; dirs: Set<string> }

  constructor(run: Run) {
    this.#run = run
    this.#visible = { messages: run.messages, dirs: new Set() }
  }

  /**
   * The instructions for files that a tool has read or written, without those the model can read already: a compaction removes
   * earlier ones, and they are given again. Texts are cut to about `maxChars` in all.
   */
  for(files: readonly string[], maxChars: number): DirectoryInstructions[] {
    const { request, messages } = this.#run
    const { instructions, secrets } = request
    if (!instructions) return []
    if (this.#visible.messages !== messages) this.#visible = { messages, dirs: new Set() }
    const { dirs } = this.#visible
    const newFiles = files.filter(path => !dirs.has(dirname(path)))
    if (newFiles.length === 0) return []
    const knownFiles = new Set([...instructions.inPrompt, ...instructionFilesIn(messages)])
    let charsLeft = maxChars
    return newFiles.flatMap(path => {
      dirs.add(dirname(path))
      const list = instructions.of(path, knownFiles)
      for (const { file } of list) knownFiles.add(file)
      return list.map(({ file, applies_to, text }): DirectoryInstructions => {
        const masked = secrets?.mask(text) ?? text
        const cut = truncateText(masked, file, Math.max(charsLeft, MIN_CHARS))
        charsLeft -= cut.length
        return { file, applies_to, text: cut }
      })
    })
  }
}
