/** Height of a diagram's box, chosen from its source, so that nothing moves when it is drawn. */

export type DiagramSize = 'low' | 'medium' | 'high' | 'highest'

/** Lines without the front matter and comments; flowcharts also end a statement with `;`. */
const statementsOf = (text: string): string[] =>
  text
    .replace(/^\s*---\n[\s\S]*?\n---\n/, '')
    .split(/[\n;]/)
    .map(line => line.trim())
    .filter(line => line && !line.startsWith('%%'))

const isHorizontal = (header: string): boolean => /^(?:graph|flowchart)\s+(?:LR|RL)\b/.test(header)

export const diagramSize = (text: string): DiagramSize => {
  const [header = '', ...statements] = statementsOf(text)
  // Without a node that has two successors, a horizontal flowchart is one row.
  const starts = statements.map(line => /^[\w-]*\w/.exec(line)?.[0] ?? line)
  if (isHorizontal(header) && new Set(starts).size === starts.length) return 'low'
  if (statements.length <= 3) return 'medium'
  return statements.length <= 16 ? 'high' : 'highest'
}
