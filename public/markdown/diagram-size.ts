/** Height of a diagram's box, known from its source before it is drawn, so that nothing moves then. */

const COLUMN_PX = 680
const PADDING_PX = 32
const MIN_PX = 112
const MAX_PX = 480
/** Of a flowchart: a node, and the space to the next one. */
const NODE_PX = 54
const GAP_PX = 50
const CHAR_PX = 8

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

/** The nodes of a flowchart by their distance from the first ones, with the longest label of each distance. */
const ranksOf = (statements: readonly string[]): { count: number; chars: number }[] => {
  const chars = new Map<string, number>()
  const edges = new Map<string, [from: string, to: string]>()
  const namesIn = (part: string): string[] =>
    part.split('&').flatMap(each => {
      const name = /^[\w-]*\w/.exec(each.trim())?.[0]
      if (!name) return []
      const label = /[[({>]+"?([^\])}"]*)/.exec(each)?.[1] ?? name
      chars.set(name, Math.max(chars.get(name) ?? 0, label.length))
      return [name]
    })
  for (const line of statements) {
    if (/^(?:subgraph|end|classDef|class|style|click|linkStyle|direction)\b/.test(line)) continue
    const parts = line.split(ARROW).map(namesIn)
    // One that leads back would go on without an end.
    for (const [at, from] of parts.slice(0, -1).entries())
      for (const a of from)
        for (const b of parts[at + 1]!) if (!edges.has(`${b} ${a}`)) edges.set(`${a} ${b}`, [a, b])
  }
  const rank = new Map([...chars.keys()].map(name => [name, 0]))
  for (let round = 0; round < Math.min(30, chars.size); round++)
    for (const [from, to] of edges.values()) {
      const next = rank.get(from)! + 1
      if (next > rank.get(to)! && next < chars.size) rank.set(to, next)
    }
  const ranks: { count: number; chars: number }[] = []
  for (const [name, at] of rank) {
    const known = ranks[at] ?? { count: 0, chars: 0 }
    ranks[at] = { count: known.count + 1, chars: Math.max(known.chars, chars.get(name) ?? 0) }
  }
  return ranks.filter(Boolean)
}

const flowchartHeight = (isHorizontal: boolean, statements: readonly string[]): number => {
  const ranks = ranksOf(statements)
  const widest = Math.max(1, ...ranks.map(({ count }) => count))
  const along = (count: number): number => count * (NODE_PX + GAP_PX) - GAP_PX
  const widths = ranks.map(({ chars }) => chars * CHAR_PX + 60)
  const width = isHorizontal
    ? widths.reduce((sum, each) => sum + each + GAP_PX, 0)
    : Math.max(0, ...ranks.map(({ count }, at) => count * (widths[at]! + GAP_PX)))
  const height = along(isHorizontal ? widest : ranks.length) + 16
  return height * Math.min(1, COLUMN_PX / Math.max(1, width))
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
