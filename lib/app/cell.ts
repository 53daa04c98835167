/** Composition: the right to serve this state directory. Without a cluster the instance lock is enough, and nothing is loaded. */
import { hostname } from 'node:os'
import type { Clock } from '../base/clock.ts'
import type { Agent, Tool } from '../agent/types.ts'
import { parseClusterKey, parseDatabaseUrl } from '../base/cluster-settings.ts'
import { alone } from '../cluster/alone.ts'
import type { CellPlace, Owned } from '../cluster/cluster.ts'
import type { Config } from '../config.ts'
import { SetupError, unavailable } from '../errors.ts'
import { CELL_HEADER } from '../http/forwarded-headers.ts'
import type { Listener } from '../http/http.ts'
import type { ResponseHold } from '../http/write-response.ts'
import type { Log } from '../operations/log.ts'
import type { CellDisk } from './cell-disk.ts'
import { fileReason } from '../store/file-error.ts'
import { readWholeText } from '../store/read-text.ts'

/** What is in the file that a variable names. Throws an Error that names the variable. */
const inFile = (
  variable: string,
  path: string,
  parse: (text: string, name: string) => string,
): string => {
  try {
    return parse(readWholeText(path).trim(), path)
  } catch (error) {
    throw new Error(`${variable}: ${fileReason(error)}`, { cause: error })
  }
}

/** The key that seals what enters the database; null where nothing does. Throws an Error when there is none. */
export const readClusterKey = ({
  files,
  key,
  keyFile,
}: NonNullable<Config['cluster']>): string | null => {
  if (files === 'volume') return null
  if (keyFile !== null) return inFile('AGENT_WEBUI_CLUSTER_KEY_FILE', keyFile, parseClusterKey)
  if (key !== null) return key
  throw new SetupError(
    'AGENT_WEBUI_CLUSTER_URL needs AGENT_WEBUI_CLUSTER_KEY_FILE, a file with a key for what enters the database; make one with: openssl rand -base64 32',
  )
}

/** The address of the database, which contains a password, so it may be in a file. */
export const clusterUrl = ({
  url,
  urlFile,
}: {
  url: string | null
  urlFile: string | null
}): string => url ?? inFile('AGENT_WEBUI_CLUSTER_URL_FILE', urlFile ?? '', parseDatabaseUrl)

/** An address that other machines understand: the one that is listened at may mean every address. */
export const clusterAddress = ({ cluster, host }: Config, local: string): string => {
  // The cells of a worker have the address of their worker, and ports of their own.
  if (cluster?.address && cluster.runBy)
    return `${new URL(cluster.address).origin.replace(/:\d+$/, '')}:${new URL(local).port}`
  if (cluster?.address) return cluster.address
  return host === '0.0.0.0' || host === '::'
    ? local.replace(/\/\/[^/]+?(?=:\d+$)/, `//${hostname()}`)
    : local
}

/** Waits until this process may serve the directory, and brings its files up to date. Nothing may read them before. */
export const ownCell = async (
  config: Config,
  log: Log,
  { clock, ...wait }: Pick<CellPlace, 'onWait' | 'signal' | 'token'> & { clock: Clock },
): Promise<Owned> => {
  const { cluster, stateDir } = config
  if (cluster === null) return alone
  const key = readClusterKey(cluster)
  const [{ PostgresCluster }, { CellFileRules }] = await Promise.all([
    import('../cluster/postgres.ts'),
    import('../cluster/cell-files.ts'),
  ])
  return new PostgresCluster({ clock, url: clusterUrl(cluster), key, log }).own(cluster.cell, {
    files: cluster.files === 'volume' ? null : new CellFileRules(config),
    stateDir,
    ...wait,
  })
}

/** A forwarder names the cell that a request is for: this address may have been that of another one. */
export const forOwnCell = (listener: Listener, { cluster }: Config): Listener => {
  if (cluster === null) return listener
  return (req, res) => {
    const cellName = req.headers[CELL_HEADER]
    if (cellName === undefined || cellName === cluster.cell) return listener(req, res)
    res.writeHead(421, { 'Content-Type': 'application/json', Connection: 'close' })
    res.end(JSON.stringify({ error: 'Another cell is served here.', code: 'not_found' }))
  }
}

/** A request waits this long for the database. */
const HOLD_MS = 30_000

const late = () =>
  unavailable(
    'The database of the cluster does not answer. What you sent may have been saved; look before you send it again.',
    { code: 'database_unavailable' },
  )

/** What the next byte of a response waits for. A stream waits without a limit; any other response becomes an error. */
export const responseHold = (cell: Owned, clock: Clock): ResponseHold | undefined => {
  if (cell.epoch === 0) return undefined
  return isStream => {
    if (cell.isSettled()) return null
    const commit = cell.whenSettled()
    if (isStream) return commit
    return new Promise((resolve, reject) => {
      const cancel = clock.timer(HOLD_MS, () => reject(late()))
      commit.then(resolve, reject).finally(cancel)
    })
  }
}

/**
 * Tools run after the message that calls them is committed: another owner would otherwise run them a second time. What they
 * changed is committed with their result, so that another owner has both. Over the limit of its disk the cell adds no files, and the
 * model is told so with each result that can do something about it.
 */
export const withCommittedCalls = (agent: Agent, cell: Owned, disk: CellDisk): Agent => {
  if (cell.epoch === 0) return agent
  const withLook = async <T>(signal: AbortSignal, run: () => Promise<T> | T): Promise<T> => {
    try {
      return await run()
    } finally {
      const looked = cell.look()
      // A person who stops a turn does not wait until a large folder is copied.
      const { promise: stopped, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve(), { once: true })
      if (signal.aborted) resolve()
      await Promise.race([looked, stopped])
    }
  }
  return (request, emit) => {
    const tools = request.tools.map(
      (tool): Tool => ({
        ...tool,
        run: async (ctx, input) => {
          await cell.whenSettled()
          if (disk.isFull && tool.kind === 'write' && tool.reaches)
            return { content: disk.sentence, isError: true }
          const changes = tool.kind === 'write' || tool.kind === 'execute'
          if (!changes) return tool.run(ctx, input)
          const result = await withLook(ctx.signal, () => tool.run(ctx, input))
          return disk.isFull && tool.kind === 'execute'
            ? { ...result, content: `${result.content}\n\n[${disk.sentence}]` }
            : result
        },
      }),
    )
    // Tools of an external agent are its own.
    return withLook(request.signal, () => agent({ ...request, tools }, emit))
  }
}
