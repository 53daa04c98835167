/** Reads the fields `diagnostics` and `diagnostics_note` of a result, also of one that is cut behind them. */

export type Problem = {
  /** Blank for a line that names no place. */
  path: string
  line: number
  kind: 'error' | 'warning' | null
  text: string
}

const STRING = '"(?:[^"\\\\]|\\\\.)*"'
const LIST = new RegExp(`"diagnostics":(\\[(?:${STRING},?)*\\])`)
const NOTE = new RegExp(`"diagnostics_note":(${STRING})`)

const parse = (json: string | undefined): unknown => {
  try {
    return JSON.parse(json ?? 'null')
  } catch {
    // Not JSON after all: nothing to show.
    return null
  }
}

const toProblem = (said: string): Problem => {
  const [, path = '', line = '', kind, text] =
    /^(.+?):(\d+):\d+ (error|warning): (.*)$/s.exec(said) ?? []
  return text === undefined
    ? { path: '', line: 0, kind: null, text: said }
    : { path, line: Number(line), kind: kind === 'error' ? 'error' : 'warning', text }
}

export const parseDiagnostics = (content: string): { problems: Problem[]; note: string } => {
  const list = parse(LIST.exec(content)?.[1])
  const note = parse(NOTE.exec(content)?.[1])
  return {
    problems: Array.isArray(list) ? list.map(String).map(toProblem) : [],
    note: typeof note === 'string' ? note : '',
  }
}
