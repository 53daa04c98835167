/** Reads the fields `diagnostics` and `diagnostics_note` of a result. */
import { parseFields } from './outcome.ts'

export type Problem = {
  /** Blank for a line that names no place. */
  path: string
  line: number
  kind: 'error' | 'warning' | null
  text: string
}

const toProblem = (said: string): Problem => {
  const [, path = '', line = '', kind, text] =
    /^(.+?):(\d+):\d+ (error|warning): (.*)$/s.exec(said) ?? []
  return text === undefined
    ? { path: '', line: 0, kind: null, text: said }
    : { path, line: Number(line), kind: kind === 'error' ? 'error' : 'warning', text }
}

export const parseDiagnostics = (content: string): { problems: Problem[]; note: string } => {
  const { diagnostics, diagnostics_note: note } = parseFields(content) ?? {}
  return {
    problems: Array.isArray(diagnostics) ? diagnostics.map(String).map(toProblem) : [],
    note: typeof note === 'string' ? note : '',
  }
}
