/** Collects what an import did and what it left out, bounded however large the export is. */
import type {
  ImportProblemCode,
  ImportReport,
  ImportResult,
  LeftOutCode,
} from '../../schema/import.ts'

const MAX_CHATS = 500
const MAX_PROBLEMS = 200
const MAX_NAMES = 10
const MAX_NAME_CHARS = 120

const shorten = (name: string): string =>
  [...name.slice(0, 2 * MAX_NAME_CHARS)].slice(0, MAX_NAME_CHARS).join('')

export class Reporting {
  readonly report: ImportReport = {
    source: null,
    counts: { new: 0, updated: 0, unchanged: 0, kept: 0 },
    files: 0,
    versions: 0,
    chats: [],
    left_out: [],
    problem_count: 0,
    problems: [],
  }

  leaveOut(code: LeftOutCode, name = ''): void {
    const { left_out } = this.report
    const earlier = left_out.find(each => each.code === code)
    const entry = earlier ?? { code, count: 0, names: [] }
    if (!earlier) left_out.push(entry)
    entry.count += 1
    const label = shorten(name)
    if (label !== '' && entry.names.length < MAX_NAMES && !entry.names.includes(label))
      entry.names.push(label)
  }

  problem(name: string, code: ImportProblemCode): void {
    const { problems } = this.report
    this.report.problem_count += 1
    if (problems.length < MAX_PROBLEMS) problems.push({ name: shorten(name), code })
  }

  chat(chat: {
    id: string
    title: string
    result: ImportResult
    versions: number
    files: number
  }): void {
    const { id, title, result, versions, files } = chat
    const { report } = this
    report.counts[result] += 1
    if (result === 'unchanged') return
    if (result !== 'kept') {
      report.versions += versions
      report.files += files
    }
    if (report.chats.length < MAX_CHATS) report.chats.push({ session_id: id, title, result })
  }
}
