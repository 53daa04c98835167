/** One connection to PostgreSQL. A statement without an answer ends it: its state is then unknown. */
import pg from 'pg'
import { STATEMENT_MS } from '../base/cluster-settings.ts'
import { messageOf } from '../errors.ts'
import { ClusterError } from './cluster.ts'

export type DatabaseRow = Readonly<Record<string, unknown>>

export type Database = {
  query(text: string, values?: readonly unknown[]): Promise<DatabaseRow[]>
  /** Aborted when the connection has ended for any reason. */
  readonly ended: AbortSignal
  end(): void
}

const CONNECT_MS = 5_000

/** SQLSTATE of an error of the server. */
export const sqlState = (error: unknown): string =>
  error instanceof pg.DatabaseError ? String(error.code) : ''

/** Whether the server says it, or cannot be reached. */
export const isOfDatabase = (error: unknown): boolean =>
  sqlState(error) !== '' ||
  error instanceof AggregateError ||
  /^(?:connect|getaddrinfo)$/.test((error as NodeJS.ErrnoException).syscall ?? '')

/** The server refuses the data of this statement, and would again: a value, a constraint, or a limit (classes 22, 23, 54). */
export const isRefusal = (error: unknown): boolean => /^(?:22|23|54)/.test(sqlState(error))

const PROBLEMS: readonly [state: RegExp, sentence: string][] = [
  [/^53300/, 'The database of the cluster has no free connection; raise its max_connections'],
  [/^53100/, 'The disk of the database of the cluster is full'],
  [/^42501/, 'The user of the database may not do what the cluster needs'],
  [/^28/, 'The database of the cluster refuses the sign-in'],
  [/^3D/, 'The server has no database of that name'],
  [/^57P/, 'The database of the cluster is stopping or starting'],
  [/./, 'The database of the cluster refuses a statement'],
]

/** What is wrong with the database, as a sentence without a period: away, or what it says. */
export const databaseProblem = (error: unknown): string => {
  const problem = PROBLEMS.find(([state]) => state.test(sqlState(error)))
  // One for each address of a host.
  const first = error instanceof AggregateError ? error.errors[0] : error
  return `${problem?.[1] ?? 'The database of the cluster does not answer'}: ${messageOf(first)}`
}

/** Throws a ClusterError for what waiting does not end: a wrong password, a missing database, missing rights. */
export const throwFinal = (error: unknown): void => {
  if (error instanceof ClusterError) throw error
  if (/^(?:28|3D|42)/.test(sqlState(error)))
    throw new ClusterError(databaseProblem(error), { cause: error })
}

/** `onNotice` is called for each NOTIFY on a channel that this connection listens at. */
export const connect = async (url: string, onNotice?: () => void): Promise<Database> => {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
    application_name: 'agent-webui',
  })
  const ended = new AbortController()
  client.on('error', () => ended.abort())
  client.on('end', () => ended.abort())
  if (onNotice) client.on('notification', onNotice)
  const end = () => {
    ended.abort()
    // With a statement that has no answer, this closes the socket.
    client.end().catch(() => undefined)
  }
  try {
    await client.connect()
    // What is acknowledged must survive a crash of the server. A setting that waits for replicas is kept.
    await client.query(
      "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'",
    )
  } catch (error) {
    end()
    throw error
  }
  const ask = async (text: string, values: readonly unknown[]): Promise<DatabaseRow[]> => {
    try {
      const { rows } = await client.query<DatabaseRow>(text, [...values])
      return rows
    } catch (error) {
      // Without a state it is not the server's answer: the connection broke, or the answer did not come in time.
      if (!(error instanceof pg.DatabaseError)) end()
      throw error
    }
  }
  let last: Promise<unknown> = Promise.resolve()
  return {
    ended: ended.signal,
    end,
    // In the order of the calls, each after the answer to the one before: a client takes one at a time.
    query(text, values = []) {
      const result = last.then(() => ask(text, values))
      last = result.catch(() => undefined)
      return result
    },
  }
}

/** A connection that is opened when it is needed, and again when it has ended. `prepare` is run on each. */
export class Reader {
  readonly #url: string
  readonly #prepare: (db: Database) => Promise<void>
  #opening: Promise<Database> | null = null

  constructor(url: string, prepare: (db: Database) => Promise<void>) {
    this.#url = url
    this.#prepare = prepare
  }

  async query(text: string, values?: readonly unknown[]): Promise<DatabaseRow[]> {
    return (await this.#current()).query(text, values)
  }

  close(): void {
    this.#opening?.then(db => db.end()).catch(() => undefined)
    this.#opening = null
  }

  async #open(): Promise<Database> {
    const db = await connect(this.#url)
    try {
      await this.#prepare(db)
      return db
    } catch (error) {
      db.end()
      throw error
    }
  }

  async #current(): Promise<Database> {
    const opening = this.#opening
    if (opening) {
      const db = await opening.catch(() => null)
      if (db?.ended.aborted === false) return db
      if (this.#opening === opening) this.#opening = null
    }
    this.#opening ??= this.#open()
    return this.#opening
  }
}
