/** Files and lines that links and addresses name. */

/** A path in the workspace, and a line or lines to mark. */
export type Target = {
  path: string
  line: number | null
  endLine?: number | null
  /** It is shown in the tree. */
  isDirectory?: boolean
  /** Text of an answer to show under this name, instead of a file. */
  text?: string
}

/** Parses `src/app.ts:12` and `src/app.ts:12-20`, also with a column. */
export const parseTarget = (text: string): Target => {
  const match = /^(.+?):(\d{1,7})(?:-(\d{1,7})|:\d+)?$/.exec(text)
  if (!match) return { path: text, line: null }
  const place = { path: match[1]!, line: Number(match[2]) }
  return match[3] === undefined ? place : { ...place, endLine: Number(match[3]) }
}

export const formatTarget = ({ path, line, endLine }: Target): string =>
  line ? `${path}:${line}${endLine ? `-${endLine}` : ''}` : path

/** The file named by a URL of the page: `…/session/<id>?file=src/app.ts:12`. */
export const targetOf = (href: string): Target | null => {
  const text = URL.parse(href)?.searchParams.get('file')
  return text ? parseTarget(text) : null
}

/** A tool's path relative to the workspace; null when it is outside. */
export const insideWorkspace = (workspace: string, path: string): string | null => {
  const root = workspace.replace(/\/+$/, '')
  const rest = path.startsWith('/')
    ? path === root
      ? ''
      : path.startsWith(`${root}/`)
        ? path.slice(root.length + 1)
        : null
    : path
  if (rest === null || rest.startsWith('~')) return null
  const parts = rest.split('/').filter(part => part && part !== '.')
  return parts.includes('..') ? null : parts.join('/')
}
