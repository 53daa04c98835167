/** Shared context of the benchmark sections: homes, services, timing and the result table. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient } from '../test/_http.ts'
import { ALLOCATOR, NODE_FLAGS } from '../build/node-flags.mjs'
import { type Program, startProgram } from '../build/start-program.ts'
import { type Shape, writeSessions } from './_data.ts'
import type { Beside } from './_beside.ts'
import { memoryMb } from './_child.ts'
import type { Figure } from './_table.ts'

export type Service = { program: Program; client: Client; home: string; stop(): Promise<void> }

export type Bench = {
  full: boolean
  /** Another server to measure too. */
  beside: Beside | undefined
  root: string
  /** A directory for V8's profiles of the services. */
  profiles: string | undefined
  add(figure: Figure): void
  note(text: string): void
  /** Starts the built file as `npm start` does, with a home of this name; `data` is written before its first start. `whole`: as `node FILE` does. */
  start(
    name: string,
    data?: readonly Shape[],
    config?: string,
    more?: { env?: Record<string, string>; args?: readonly string[]; whole?: boolean },
  ): Promise<Service>
}

export const createBench = ({
  root,
  full,
  beside,
  profiles,
}: Pick<Bench, 'root' | 'full' | 'beside' | 'profiles'>) => {
  const profiling = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : []
  const figures: Figure[] = []
  const programs: Program[] = []
  const note = (text: string) => void process.stderr.write(`… ${text}\n`)
  const bench: Bench = {
    full,
    beside,
    root,
    profiles,
    note,
    add(figure) {
      figures.push(figure)
      note(
        `${figure.what}: ${figure.measured}${figure.minimal ? `, minimal ${figure.minimal}` : ''}${figure.beside ? `, beside ${figure.beside}` : ''}`,
      )
    },
    async start(
      name,
      data = [],
      config,
      { env = {}, args = ['--no-browser'], whole = false } = {},
    ) {
      const home = join(root, name)
      const agentHome = join(home, '.agent')
      mkdirSync(agentHome, { recursive: true, mode: 0o700 })
      for (const shape of data) writeSessions(join(agentHome, 'webui'), home, shape)
      if (config) writeFileSync(join(agentHome, 'config.yaml'), config)
      const file = join(import.meta.dirname, '..', 'dist', 'agent-webui.mjs')
      const runBuilt = join(import.meta.dirname, '..', 'build', 'run-built.cjs')
      const program = await startProgram(
        process.execPath,
        whole ? [file, ...args] : [...NODE_FLAGS, ...profiling, runBuilt, file, ...args],
        {
          home,
          env: whole ? env : { ...ALLOCATOR, ...env },
          outputPath: join(home, 'output.log'),
          startTimeoutMs: 120_000,
        },
      )
      programs.push(program)
      const client = createClient(() => program.url)
      const stop = async () => {
        client.closeClient()
        await program.stop()
      }
      return { program, client, home, stop }
    },
  }
  /** Kills services that a failed section left running. */
  const close = async () => {
    for (const { child, exited } of programs) {
      child.kill('SIGKILL')
      await exited
    }
  }
  return { bench, figures, close }
}

/** Milliseconds per response of sequential requests; throws on a status of 400 or more. */
export const timeAnswers = async (
  count: number,
  ask: (index: number) => Promise<{ status: number; text: string }>,
): Promise<number[]> => {
  const times: number[] = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    const answer = await ask(index)
    times.push(performance.now() - startedAt)
    if (answer.status >= 400)
      throw new Error(`answered ${answer.status}: ${answer.text.slice(0, 200)}`)
  }
  return times
}

/** Resident memory in MB after some seconds without work, in which garbage is collected (`lib/base/collect-when-idle.ts`). */
export const restedMb = async ({ program }: Service): Promise<number> => {
  await new Promise(resolve => setTimeout(resolve, 12_000))
  return memoryMb(program.child.pid)
}

/** Polls every 50 ms until the condition holds; returns the milliseconds waited. */
export const waitUntil = async (what: string, isSo: () => Promise<boolean>): Promise<number> => {
  const startedAt = performance.now()
  while (!(await isSo())) {
    if (performance.now() - startedAt > 120_000) throw new Error(`waited too long for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return performance.now() - startedAt
}

const BARE = `import { createServer } from 'node:http'
createServer((req, res) => res.end('{"status":"ok"}')).listen(process.env.AGENT_WEBUI_PORT, '127.0.0.1')`

/** A minimal HTTP server on this Node, the baseline for start time and memory. */
export const startBare = ({ root }: Bench): Promise<Program> => {
  const file = join(root, 'bare.mjs')
  writeFileSync(file, BARE)
  return startProgram(process.execPath, [file], { home: join(root, 'bare') })
}
