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

/** As if one of its nodes had several successors, and all others followed each other. */
const flowchartHeight = (isHorizontal: boolean, statements: readonly string[]): number => {
  const starts = statements.map(line => /^[\w-]*\w/.exec(line)?.[0] ?? line)
  const arrows = statements.flatMap(line => line.match(/[-=.]{2,}[>xo-]/g) ?? []).length
  const joined = Math.max(0, ...statements.map(line => line.split('&').length - 1))
  const across =
    joined + Math.max(1, ...starts.map(name => starts.filter(each => each === name).length))
  const along = arrows + 2 - across + joined
  const [rows, columns] = isHorizontal ? [across, along] : [along, across]
  const scale = Math.min(1, COLUMN_PX / (columns * (WIDTH_PX + GAP_PX)))
  return (rows * (NODE_PX + GAP_PX) - GAP_PX + 16) * scale
}

export const diagramHeight = (text: string): number => {
  const height = drawnHeights.get(text)
  if (height !== undefined) return height
  const [header = '', ...statements] = statementsOf(text)
  const [, direction] = /^(?:graph|flowchart)\s+(TB|TD|BT|LR|RL)\b/.exec(header) ?? []
  if (direction)
    return boxHeight(flowchartHeight(direction === 'LR' || direction === 'RL', statements))
  if (/^sequenceDiagram/.test(header))
    return boxHeight(150 + 46 * statements.filter(line => /->|[Nn]ote/.test(line)).length)
  return statements.length <= 3 ? 288 : statements.length <= 16 ? 360 : MAX_PX
}
