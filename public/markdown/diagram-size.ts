/** Height of a diagram's box, known from its source before it is drawn, so that nothing moves then. */

const COLUMN_PX = 680
const PADDING_PX = 32
const MIN_PX = 112
const MAX_PX = 480
/** Of a flowchart: a usual node, and the space to the next one. */
const NODE_PX = 54
const GAP_PX = 50
const WIDTH_PX = 100

/** What drawings measured, for the next time that they are shown. */
export const drawnHeights = new Map<string, number>()

export const boxHeight = (px: number): number =>
  Math.round(Math.min(MAX_PX, Math.max(MIN_PX, px + PADDING_PX)))

/** Lines without the front matter and comments; flowcharts also end a statement with `;`. */
const statementsOf = (text: string): string[] =>
  text
    .replace(/^\s*---\n[\s\S]*?\n---\n/, '')
    .split(/[\n;]/)
    .map(line => line.trim())
    .filter(line => line && !line.startsWith('%%'))

const ARROW = /\s*<?[-=.~]{2,}(?:[^-=.>|]+[-=.]{2,})?[>xo]?(?:\|[^|]*\|)?\s*/

/** How many nodes a flowchart has at each distance from its first ones. */
const ranksOf = (statements: readonly string[]): number[] => {
  const rank = new Map<string, number>()
  const edges = new Map<string, [from: string, to: string]>()
  const namesIn = (part: string): string[] =>
    part.split('&').flatMap(each => {
      const name = /^[\w-]*\w/.exec(each.trim())?.[0]
      if (!name) return []
      rank.set(name, 0)
      return [name]
    })
  for (const line of statements) {
    if (/^(?:subgraph|end|classDef|class|style|click|linkStyle|direction)\b/.test(line)) continue
    const parts = line.split(ARROW).map(namesIn)
    for (const [at, from] of parts.slice(0, -1).entries())
      // One that leads back would go on without an end.
      for (const a of from)
        for (const b of parts[at + 1]!) if (!edges.has(`${b} ${a}`)) edges.set(`${a} ${b}`, [a, b])
  }
  for (let round = 0; round < Math.min(30, rank.size); round++)
    for (const [from, to] of edges.values()) {
      const next = rank.get(from)! + 1
      if (next > rank.get(to)! && next < rank.size) rank.set(to, next)
    }
  const ranks: number[] = []
  for (const at of rank.values()) ranks[at] = (ranks[at] ?? 0) + 1
  return ranks
}

const flowchartHeight = (isHorizontal: boolean, statements: readonly string[]): number => {
  const ranks = ranksOf(statements)
  const [along, across] = [ranks.length, Math.max(1, ...ranks.filter(Boolean))]
  const [rows, columns] = isHorizontal ? [across, along] : [along, across]
  const width = Math.max(1, columns) * (WIDTH_PX + GAP_PX)
  return (rows * (NODE_PX + GAP_PX) - GAP_PX + 16) * Math.min(1, COLUMN_PX / width)
}

export const diagramHeight = (text: string): number => {
  const known = drawnHeights.get(text)
  if (known !== undefined) return known
  const [header = '', ...statements] = statementsOf(text)
  const [, direction] = /^(?:graph|flowchart)\s+(TB|TD|BT|LR|RL)\b/.exec(header) ?? []
  if (direction)
    return boxHeight(flowchartHeight(direction === 'LR' || direction === 'RL', statements))
  if (/^sequenceDiagram/.test(header))
    return boxHeight(150 + 46 * statements.filter(line => /->|[Nn]ote/.test(line)).length)
  return statements.length <= 3 ? 288 : statements.length <= 16 ? 360 : MAX_PX
}
