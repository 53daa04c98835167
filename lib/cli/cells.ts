/** `agent-webui cells`: the cells that workers run, and who may use them. */
import { clusterUrl } from '../app/cell.ts'
import { isCellName, isLabel } from '../base/cluster-settings.ts'
import type { CellEntry } from '../cluster/directory.ts'
import { Directory } from '../cluster/directory.ts'
import type { Config } from '../config.ts'
import { splitEquals, valueAt } from './arguments.ts'
import type { Terminal } from './terminal.ts'

export type CellsArguments =
  | { action: 'list'; json: boolean }
  | { action: 'add'; cell: string; title: string; labels: string[]; people: string[] }
  | { action: 'allow' | 'revoke'; cell: string; people: string[] }
  | { action: 'remove'; cell: string }

const SEE = 'See agent-webui cells --help.'

export const parseCells = (argv: readonly string[]): CellsArguments => {
  const [action = 'list', ...rest] = splitEquals(argv)
  const words: string[] = []
  const labels: string[] = []
  let title = ''
  let json = false
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] as string
    if (word === '--title' && action === 'add') title = valueAt(rest, ++at, word)
    else if (word === '--label' && action === 'add') labels.push(valueAt(rest, ++at, word))
    else if (word === '--json' && action === 'list') json = true
    else if (word.startsWith('-'))
      throw new Error(`"${word}" is not an option of cells ${action}. ${SEE}`)
    else words.push(word)
  }
  const [cell, ...people] = words
  if (action === 'list' && cell === undefined) return { action, json }
  if (action !== 'add' && action !== 'allow' && action !== 'revoke' && action !== 'remove')
    throw new Error(
      `cells list, add, allow, revoke, or remove, not "${[action, ...words].join(' ')}". ${SEE}`,
    )
  if (cell === undefined) throw new Error(`cells ${action} needs the name of a cell. ${SEE}`)
  if (!isCellName(cell) || cell !== cell.toLowerCase())
    throw new Error(`A cell has a name of small letters, digits, and . _ @ -, not "${cell}".`)
  if (action === 'add') {
    const odd = labels.find(label => !isLabel(label))
    if (odd !== undefined) throw new Error(`"${odd}" is not a label.`)
    return { action, cell, title, labels, people }
  }
  if (action === 'remove') {
    if (people.length > 0) throw new Error(`cells remove takes one cell at a time. ${SEE}`)
    return { action, cell }
  }
  if (people.length === 0) throw new Error(`cells ${action} needs the names of people. ${SEE}`)
  return { action, cell, people }
}

const stateOf = ({ isManaged, isAwake, worker, wakeAt }: CellEntry): string => {
  if (isAwake) return isManaged && worker !== null ? `runs on ${worker}` : 'runs'
  if (!isManaged) return 'not run by workers'
  return wakeAt === null ? 'sleeps' : `sleeps until ${new Date(wakeAt).toISOString()}`
}

const lineOf = (cell: CellEntry): string =>
  [
    cell.name,
    cell.title,
    stateOf(cell),
    cell.people.join(', ') || 'no one',
    ...(cell.labels.length > 0 ? [`labels: ${cell.labels.join(', ')}`] : []),
  ]
    .filter(part => part !== '')
    .join('  ')

export const changeCells = async (
  given: CellsArguments,
  { config, terminal }: { config: Config; terminal: Terminal },
): Promise<number> => {
  if (config.cluster === null)
    throw new Error('cells needs AGENT_WEBUI_CLUSTER_URL: the database of the cluster.')
  const directory = new Directory(clusterUrl(config.cluster))
  try {
    if (given.action === 'list') {
      const cells = await directory.list()
      if (given.json) terminal.out(`${JSON.stringify(cells, null, 2)}\n`)
      else for (const cell of cells) terminal.out(`${lineOf(cell)}\n`)
    } else if (given.action === 'add') await directory.add(given.cell, given)
    else if (given.action === 'remove') await directory.remove(given.cell)
    else await directory[given.action](given.cell, given.people)
    await terminal.drain()
    return 0
  } finally {
    directory.close()
  }
}
