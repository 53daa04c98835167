/** Collects the findings of one inspection. */
import { CONTROL, OWN_ADDRESS, UNCLEAR } from './labels.ts'
import type { Finding } from './types.ts'

/** Reasons that count even inside an ordinary build of the project. */
const SEVERE = new Set([
  CONTROL,
  OWN_ADDRESS,
  'delete outside the workspace',
  'delete in root path',
  'credential file read',
  'write to a startup or login file',
  'pipe remote content to shell',
  'decoded text piped to shell',
  'execute remote script via process substitution',
  'network shell',
  'scheduled command',
  'git configuration that runs programs',
  'write to block device',
])

/** A block, or a reason that counts even inside an ordinary build of the project. */
export const isSevere = ({ label, blocked }: Finding): boolean =>
  blocked !== undefined || SEVERE.has(label)

export class Findings {
  list: Finding[] = []
  /** False once something couldn't be parsed completely. */
  isClear = true

  readonly add = (label: string, more: Partial<Finding> = {}): void => {
    this.list.push({ label, ...more })
    if (more.isUnclear) this.isClear = false
  }

  addUnclear(): void {
    this.add(UNCLEAR, { isUnclear: true })
  }

  addAll(found: readonly Finding[]): void {
    for (const { label, ...more } of found) this.add(label, more)
  }

  /** What `run` finds, without adding it. When it throws, its findings count: earlier blocks must not be lost. */
  collect(run: () => void): Finding[] {
    const before = this.list
    const wasClear = this.isClear
    this.list = []
    try {
      run()
    } catch (error) {
      this.list = [...before, ...this.list]
      throw error
    }
    const found = this.list
    this.list = before
    this.isClear = wasClear
    return found
  }
}
