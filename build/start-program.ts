/** Starts the service as a separate process (from source, built, or as an executable) with its own home directory. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

export type ProgramOptions = {
  /** User home, which contains base home and state. Created when missing. */
  home: string
  env?: Record<string, string>
  cwd?: string
  port?: number
  /** Output goes to this file instead of a pipe: reading a pipe would take CPU time from a measurement. */
  outputPath?: string
  /** What the program prints once it listens; it is not polled before, because that takes CPU time from its start. */
  ready?: string
  /** Where it says that it is healthy. Default: /health. */
  health?: string
  /** How long to wait for the first answer there. */
  startTimeoutMs?: number
}

export type Program = {
  child: ChildProcess
  url: string
  port: number
  /** Milliseconds from spawn to the first answer. */
  startedMs: number
  output(): string
  /** Resolves when the output contains `words`; rejects when the program exits without them. */
  waitForOutput(words: string): Promise<void>
  /** SIGTERM and the exit code; null when a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  exited: Promise<number | null>
}

/** Below the range that Linux gives to outgoing connections: one of those could take the port before the program listens. */
const FIRST_PORT = 20_000
const PORTS = 12_000

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** A port that is free at this moment. Random, because tests run side by side. */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_PORT + randomInt(PORTS)
    if (await isFree(port)) return port
  }
  throw new Error('There is no free port.')
}

/** Set by the test run; measurements have none. */
const { NODE_COMPILE_CACHE } = process.env
const compileCache: Record<string, string> = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}

/** A minimal environment without the caller's settings and keys. */
export const programEnv = (home: string, port: number, env: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  AGENT_WEBUI_PORT: String(port),
  // Commands run directly, as on a computer without bubblewrap, unless config.yaml turns the sandbox on, and ask like the command line.
  AGENT_WEBUI_SANDBOX: 'off',
  AGENT_WEBUI_OUTSIDE_SANDBOX: 'dangerous',
  ...compileCache,
  ...env,
})

/** Starts the program without waiting for it: for starts that are expected to fail. */
export const launch = (
  command: string,
  args: readonly string[],
  { home, env, cwd, port = 0, outputPath }: ProgramOptions,
): Pick<Program, 'child' | 'output' | 'exited' | 'waitForOutput'> => {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const file = outputPath === undefined ? undefined : openSync(outputPath, 'w')
  const child = spawn(command, args, {
    cwd: cwd ?? home,
    env: programEnv(home, port, env),
    stdio: ['ignore', file ?? 'pipe', file ?? 'pipe'],
  })
  if (file !== undefined) closeSync(file)
  const texts: string[] = []
  child.stdout?.on('data', chunk => texts.push(String(chunk)))
  child.stderr?.on('data', chunk => texts.push(String(chunk)))
  const exited = new Promise<number | null>(resolve => {
    child.once('close', code => resolve(code))
    child.once('error', error => {
      texts.push(error.message)
      resolve(null)
    })
  })
  const waitForOutput = async (words: string): Promise<void> => {
    const streams = [child.stdout, child.stderr].filter(stream => stream !== null)
    while (!output().includes(words)) {
      const next = streams.map(
        stream => new Promise<void>(resolve => void stream.once('data', () => resolve())),
      )
      const ended = exited.then(() => 'ended' as const)
      if ((await Promise.race([...next, ended])) === 'ended' && !output().includes(words))
        throw new Error(`It ended without saying "${words}":\n${output()}`)
    }
  }
  const output = () =>
    texts.join('') + (outputPath === undefined ? '' : readFileSync(outputPath, 'utf8'))
  return { child, output, exited, waitForOutput: waitForOutput }
}

/** Resolves when /health answers; rejects with the output when the program exits or does not answer in time. */
export const startProgram = async (
  command: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<Program> => {
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  const launched = launch(command, args, { ...options, port })
  const { child, exited, output, waitForOutput } = launched
  const deadline = startedAt + (options.startTimeoutMs ?? 60_000)
  const ended = { value: false }
  void exited.then(() => {
    ended.value = true
  })
  if (options.ready !== undefined) {
    const timeout = new AbortController()
    await Promise.race([
      // A program that ends without it is reported below.
      waitForOutput(options.ready).catch(() => undefined),
      setTimeout(deadline - performance.now(), undefined, timeout).catch(() => undefined),
    ])
    timeout.abort()
  }
  for (;;) {
    if (ended.value) throw new Error(`The program ended:\n${output()}`)
    if (performance.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`The program does not answer:\n${output()}`)
    }
    try {
      const answer = await fetch(url + (options.health ?? '/health'))
      await answer.arrayBuffer()
      if (answer.ok) break
    } catch {
      // Not listening yet. A short pause, because starts are measured in milliseconds.
      await setTimeout(3)
    }
  }
  const startedMs = performance.now() - startedAt
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return exited
  }
  return { child, url, port, startedMs, output, waitForOutput: waitForOutput, stop, exited }
}

/** The service: its sources; in a run of all tests the built file, which starts with half the CPU time. */
export const SERVICE = process.env.TEST_SERVICE ?? join(import.meta.dirname, '..', 'router.ts')

/** Starts the service on the Node that runs this. */
export const startService = ({
  args = [],
  ...options
}: ProgramOptions & { args?: readonly string[] }): Promise<Program> =>
  startProgram(process.execPath, [SERVICE, ...args], {
    ready: ' answers at ',
    ...options,
  })
