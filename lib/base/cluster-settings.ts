/** Settings of the cluster (AGENT_WEBUI_CLUSTER_…): the database that keeps a copy of the state directory. */
import { commaList } from './comma-list.ts'

export type ClusterSettings = Readonly<{
  /** postgres://user:<password>@host/database; null: the file has it. */
  url: string | null
  urlFile: string | null
  /** Of the state directory, the same on every machine that may serve it. */
  cell: string
  /**
   * `mirror`: the database keeps a copy of the files, and another machine can take over. `volume`: the directory is on a volume
   * that follows the cell, and the database only says who owns it.
   */
  files: 'mirror' | 'volume'
  /** Seals what enters the database: the key itself, or the file that has it. A process that mirrors a cell needs one of both. */
  key: string | null
  keyFile: string | null
  /** How a forwarder reaches this service; null: the address it listens at. */
  address: string | null
  /** The worker that started this process; null: none did. */
  runBy: string | null
  /** A cell of a worker ends after so long without anything to do, in milliseconds; 0: never. */
  idleMs: number
  /** Of the directory of a cell of a worker, in bytes; 0: no limit. */
  diskBytes: number
  worker: WorkerSettings
}>

/** Ids of users of the system, the last one included. */
export type UserRange = Readonly<{ first: number; last: number }>

/** Of `agent-webui worker`. */
export type WorkerSettings = Readonly<{
  /** A user of its own for each cell; `shared`: all cells are those of the worker's user; null: likewise, so it runs one cell only. */
  users: UserRange | 'shared' | null
  /** Null: the host name. */
  name: string | null
  /** How many cells it runs at most. */
  capacity: number
  labels: readonly string[]
  /** Of a cell with its commands, in bytes; 0: no limit; null: half of the machine's, where groups of the system hold it. */
  memoryBytes: number | null
  /** Of a cell with its commands, threads too; 0: no limit; null: the default, where the system holds it. */
  processes: number | null
}>

/**
 * After so long without a sign of life a process counts as gone, in milliseconds: how soon another takes over. The other times
 * of the cluster follow from it.
 */
export const STALE_MS = 10_000
/** An owner that is idle gives a sign of life this often. */
export const BEAT_MS = STALE_MS / 5
/** After so long without an answer of the database, an owner answers nothing: another may be the owner before long. */
export const LEASE_MS = STALE_MS * 0.6
/** A statement without an answer ends its connection while there is time for another sign of life. */
export const STATEMENT_MS = STALE_MS * 0.8
/** A request waits so long for the next owner: the time until it is replaced, to take over, and to start. */
export const TAKEOVER_MS = STALE_MS * 2.5

/** Each begins with AGENT_WEBUI_CLUSTER_. */
export const CLUSTER_VARIABLES = [
  'URL',
  'URL_FILE',
  'CELL',
  'FILES',
  'KEY',
  'KEY_FILE',
  'ADDRESS',
  'IDLE',
  'WORKER',
  'CAPACITY',
  'LABELS',
  'USERS',
  'MEMORY',
  'PROCESSES',
  'DISK',
  'RUN_BY',
] as const

const CELL = /^[0-9A-Za-z][0-9A-Za-z._@-]{0,127}$/
const MIN_KEY_CHARS = 32

export const isCellName = (text: string): boolean => CELL.test(text)

const DEFAULT_CAPACITY = 10
const MAX_CAPACITY = 1_000
const DEFAULT_IDLE_MINUTES = 15

const parseCapacity = (text: string): number => {
  const capacity = text === '' ? DEFAULT_CAPACITY : Number(text)
  if (Number.isInteger(capacity) && capacity >= 1 && capacity <= MAX_CAPACITY) return capacity
  throw new Error(
    `AGENT_WEBUI_CLUSTER_CAPACITY must be a number from 1 to ${MAX_CAPACITY}, not "${text}"`,
  )
}

const parseIdle = (text: string): number => {
  const minutes = text === '' ? DEFAULT_IDLE_MINUTES : Number(text)
  if (minutes >= 0 && minutes <= 10_000) return minutes * 60_000
  throw new Error(
    `AGENT_WEBUI_CLUSTER_IDLE must be a number of minutes, or 0 for never, not "${text}"`,
  )
}

const UNITS = { '': 1, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 } as const
const SIZE = /^(\d+(?:\.\d+)?)([MGT])B?$/i
/** Less than a cell needs by itself. */
const MIN_SIZE = 512 * UNITS.M
const DEFAULT_DISK_GB = 10
const MIN_PROCESSES = 64

/** A size in bytes; 0: no limit; null: not set. */
const parseSize = (name: string, text: string): number | null => {
  if (text === '' || text === '0') return text === '' ? null : 0
  const [, number, unit = ''] = SIZE.exec(text) ?? []
  const bytes = Math.floor(Number(number) * UNITS[unit.toUpperCase() as keyof typeof UNITS])
  if (bytes >= MIN_SIZE) return bytes
  throw new Error(
    `AGENT_WEBUI_CLUSTER_${name} must be a size of 512M or more, such as 4G, or 0 for no limit, not "${text}"`,
  )
}

const parseProcesses = (text: string): number | null => {
  if (text === '') return null
  const count = Number(text)
  if (Number.isInteger(count) && (count === 0 || count >= MIN_PROCESSES)) return count
  throw new Error(
    `AGENT_WEBUI_CLUSTER_PROCESSES must be a number of ${MIN_PROCESSES} or more, or 0 for no limit, not "${text}"`,
  )
}

/** A name of a worker or a label, which a cell may ask for. */
export const isLabel = (text: string): boolean => CELL.test(text)

/** Below are users of the system, and above ids that are none. */
const [MIN_USER, MAX_USER] = [1_000, 2 ** 31 - 2]

const parseUsers = (text: string): WorkerSettings['users'] => {
  if (text === '') return null
  if (text === 'shared') return text
  const [, from, to] = /^(\d+)-(\d+)$/.exec(text) ?? []
  const range = { first: Number(from), last: Number(to) }
  if (range.first >= MIN_USER && range.last >= range.first && range.last <= MAX_USER)
    return Object.freeze(range)
  throw new Error(
    `AGENT_WEBUI_CLUSTER_USERS must be ids of users that nothing else uses, such as 200000-200999, or shared, not "${text}"`,
  )
}

const parseWorker = (get: (name: string) => string): WorkerSettings => {
  const [name, list] = [get('WORKER'), commaList(get('LABELS'))]
  const odd = [...(name === '' ? [] : [name]), ...list].find(text => !isLabel(text))
  if (odd !== undefined)
    throw new Error(
      `AGENT_WEBUI_CLUSTER_WORKER and AGENT_WEBUI_CLUSTER_LABELS must be names of letters, digits, and . _ @ -, not "${odd}"`,
    )
  return Object.freeze({
    name: name || null,
    users: parseUsers(get('USERS')),
    capacity: parseCapacity(get('CAPACITY')),
    labels: Object.freeze(list),
    memoryBytes: parseSize('MEMORY', get('MEMORY')),
    processes: parseProcesses(get('PROCESSES')),
  })
}

/** The trimmed key. Throws an Error with a sentence when it can be guessed. */
export const parseClusterKey = (text: string, name: string): string => {
  const key = text.trim()
  if (key.length >= MIN_KEY_CHARS) return key
  throw new Error(
    `${name} must have at least ${MIN_KEY_CHARS} characters; make one with: openssl rand -base64 32`,
  )
}

/** Throws an Error with a sentence unless it is the address of a database. */
export const parseDatabaseUrl = (text: string, name: string): string => {
  if (/^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text)) return text
  throw new Error(
    `${name} must be the address of a PostgreSQL database, like postgres://user:<password>@host/database`,
  )
}

/** `get` returns the trimmed value of AGENT_WEBUI_CLUSTER_<name>, `path` resolves a variable; both are empty when it is not set. Throws an Error with a sentence. */
export const parseCluster = (
  get: (name: string) => string,
  path: (variable: string) => string,
): ClusterSettings | null => {
  const keyFile = path('AGENT_WEBUI_CLUSTER_KEY_FILE')
  const [url, urlFile] = [get('URL'), path('AGENT_WEBUI_CLUSTER_URL_FILE')]
  const [cell, key, address] = [get('CELL'), get('KEY'), get('ADDRESS')]
  if (url === '' && urlFile === '') {
    const extra = CLUSTER_VARIABLES.find(name => get(name) !== '')
    if (extra) throw new Error(`AGENT_WEBUI_CLUSTER_${extra} needs AGENT_WEBUI_CLUSTER_URL`)
    return null
  }
  if (url !== '' && urlFile !== '')
    throw new Error('AGENT_WEBUI_CLUSTER_URL and AGENT_WEBUI_CLUSTER_URL_FILE cannot both be set')
  if (key !== '' && keyFile !== '')
    throw new Error('AGENT_WEBUI_CLUSTER_KEY and AGENT_WEBUI_CLUSTER_KEY_FILE cannot both be set')
  const files = get('FILES') || 'mirror'
  if (files !== 'mirror' && files !== 'volume')
    throw new Error(`AGENT_WEBUI_CLUSTER_FILES must be mirror or volume, not "${files}"`)
  if (cell !== '' && !isCellName(cell))
    throw new Error(
      `AGENT_WEBUI_CLUSTER_CELL must be a name of letters, digits, and . _ @ -, not "${cell}"`,
    )
  if (address !== '' && !/^https?:\/\/[^/?#]+\/?$/.test(address))
    throw new Error(
      `AGENT_WEBUI_CLUSTER_ADDRESS must be a URL like http://10.0.0.5:8787, not "${address}"`,
    )
  return Object.freeze({
    url: url === '' ? null : parseDatabaseUrl(url, 'AGENT_WEBUI_CLUSTER_URL'),
    urlFile: urlFile || null,
    cell: cell || 'default',
    files,
    key: key === '' ? null : parseClusterKey(key, 'AGENT_WEBUI_CLUSTER_KEY'),
    keyFile: keyFile || null,
    address: address === '' ? null : address.replace(/\/$/, ''),
    runBy: get('RUN_BY') || null,
    idleMs: parseIdle(get('IDLE')),
    diskBytes: parseSize('DISK', get('DISK')) ?? DEFAULT_DISK_GB * UNITS.G,
    worker: parseWorker(get),
  })
}
