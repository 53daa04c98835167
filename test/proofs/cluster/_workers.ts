/** What the proofs of workers share: a real PostgreSQL, a model, and workers and forwarders as processes. */
import { confirming } from '../../_app.ts'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launch, type Program, SERVICE, startService } from '../../../build/start-program.ts'
import { Directory } from '../../../lib/cluster/directory.ts'
import { suite } from 'uvu'
import { createClient } from '../../_http.ts'
import { findPostgres, type Postgres, startPostgres } from '../../_postgres.ts'
import { createProvider, type Scripted } from '../../_provider.ts'
import { until } from '../../_wait.ts'

const KEY = 'a key that is only used in this test 01'

export type Worker = { dir: string; program: ReturnType<typeof launch> }
export let db: Postgres
export let provider: Scripted
export let directory: Directory
/** Requests to the provider before the test. */
let earlier = 0
const dirs: string[] = []
const programs: ReturnType<typeof launch>[] = []
const clients: (() => void)[] = []

const dirOf = (name: string): string => {
  const dir = mkdtempSync(join(tmpdir(), `${name}-`))
  dirs.push(dir)
  return dir
}

/** A worker, or without `args` a service, that may end at once. */
export const launchMember = (
  name: string,
  args: readonly string[],
  given: Record<string, string> = {},
  dir = dirOf(name),
): Worker => {
  const program = launch(process.execPath, [SERVICE, ...args], {
    home: dir,
    port: 0,
    env: {
      AGENT_WEBUI_CLUSTER_URL: db.url,
      AGENT_WEBUI_CLUSTER_KEY: KEY,
      AGENT_WEBUI_CLUSTER_WORKER: name,
      AGENT_WEBUI_CLUSTER_USERS: 'shared',
      AGENT_WEBUI_AUTH_HEADER: 'Remote-User',
      AGENT_WEBUI_TRUSTED_PROXIES: '127.0.0.1',
      AGENT_WEBUI_STATE_DIR: join(dir, 'worker'),
      ...given,
    },
  })
  programs.push(program)
  return { dir, program }
}

export const startWorker = async (
  name: string,
  given: Record<string, string> = {},
  dir?: string,
): Promise<Worker> => {
  const worker = launchMember(name, ['worker'], given, dir)
  await worker.program.waitForOutput(' works as ')
  return worker
}

export const startForwarder = async (env: Record<string, string> = {}): Promise<Program> => {
  // It has no cell, so it is healthy by an address of its own.
  const program = await startService({
    home: dirOf('forwarder'),
    args: ['forward'],
    env: {
      AGENT_WEBUI_CLUSTER_URL: db.url,
      AGENT_WEBUI_AUTH_HEADER: 'Remote-User',
      AGENT_WEBUI_TRUSTED_PROXIES: '127.0.0.1',
      ...env,
    },
    ready: ' forwards at ',
    health: '/forward/health',
  })
  programs.push(program)
  return program
}

export const as = (person: string | null, { url }: Pick<Program, 'url'>) => {
  const { closeClient, ...client } = createClient(
    () => url,
    person === null ? {} : { 'Remote-User': person },
  )
  clients.push(closeClient)
  return { ...client, post: confirming(client) }
}

export const cellDir = ({ dir }: Worker, cell: string): string => join(dir, 'worker', 'cells', cell)
export const pidOf = (worker: Worker, cell: string): number =>
  JSON.parse(readFileSync(join(cellDir(worker, cell), 'state', 'instance.json'), 'utf8')).pid
export const useModel = (worker: Worker, cell: string): void =>
  writeFileSync(
    join(cellDir(worker, cell), 'home', 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
  )
export const rowOf = async (cell: string) => {
  const [row] = await db.query('select * from agent_webui.cell where name = $1', [cell])
  return row ?? {}
}
/** The texts of a chat whose turn has ended. */
export const answersOf = async (client: ReturnType<typeof as>, id: string): Promise<string[]> => {
  const session = async () => (await client.get(`/api/session?session_id=${id}`)).body.session
  await until(async () => (await session()).is_streaming === false, 'the end of the turn')
  return (await session()).messages.map(({ content }: { content: string }) => content)
}
/** Of this test, from 1. */
export const arrived = (n: number) => provider.arrived(earlier + n)
export const add = (cell: string, given: { people?: string[]; labels?: string[] } = {}) =>
  directory.add(cell, { title: '', labels: [], people: [], ...given })

const openCluster = async (): Promise<void> => {
  db = await startPostgres()
  provider = await createProvider()
}

const beginTest = (): void => {
  directory = new Directory(db.url)
  provider.clear()
  earlier = provider.requests.length
  provider.otherwise = () => ({ text: 'The end.' })
}

export const endTest = async (): Promise<void> => {
  for (const close of clients.splice(0)) close()
  for (const { child, exited } of programs.splice(0)) {
    child.kill('SIGTERM')
    await exited
  }
  directory.close()
  await db.query('drop schema if exists agent_webui cascade')
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
}

const closeCluster = async (): Promise<void> => {
  await provider.close()
  await db.close()
}

const whyNoPostgres = (): string | null =>
  findPostgres() === null ? 'there is no PostgreSQL for this platform' : null

/** Tests with a database of their own, a model, and no cells. `reason`: why they cannot be run here; null where they can. */
export const workersSuite = (name: string, reason = whyNoPostgres()) => {
  const proof = suite(name)
  if (reason !== null) {
    const skip = (title: string, _: () => Promise<void>) =>
      proof.skip(`${title}: ${reason}`, () => undefined)
    return Object.assign(skip, { after: (_: () => Promise<void>) => undefined, run: proof.run })
  }
  proof.before(openCluster)
  proof.before.each(beginTest)
  proof.after.each(endTest)
  proof.after(closeCluster)
  return proof
}
